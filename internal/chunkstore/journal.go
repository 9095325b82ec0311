package chunkstore

import (
	"bytes"
	"encoding/binary"

	"lukechampine.com/blake3"
)

// A journal holds what a frame-to-be has got so far. It starts with a head of 16 bytes: magic "CTXFSJ1\n" and the
// frame's first address. Then records, each with a head of 32 bytes; numbers are little-endian:
//
//	 0  magic "CJR", and the kind: 'D' bytes of the address space, 'B' the record of a blob
//	 4  length of the body
//	 8  D: address of the first byte; else 0
//	16  BLAKE3 of head[0:16] and the body, its first 16 bytes
const (
	journalMagic = "CTXFSJ1\n"
	journalHead  = 16
	recordMagic  = "CJR"
	recordHead   = 32
	// maxRecord bounds a body. Blobs of a hundred thousand extents have records of half a megabyte.
	maxRecord  = 64 << 20
	kindData   = 'D'
	kindBlob   = 'B'
	dataRecord = 1 << 20 // how much a D record holds at most
)

func newJournal(base int64) []byte {
	return binary.LittleEndian.AppendUint64([]byte(journalMagic), uint64(base)) // #nosec G115 -- an address
}

func appendRecord(dst []byte, kind byte, addr int64, body []byte) []byte {
	start := len(dst)
	dst = append(dst, recordMagic...)
	dst = append(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body))) // #nosec G115 -- at most maxRecord
	dst = binary.LittleEndian.AppendUint64(dst, uint64(addr))      // #nosec G115 -- an address
	sum := recordSum(dst[start:], body)
	dst = append(dst, sum[:]...)
	return append(dst, body...)
}

func recordSum(head, body []byte) [16]byte {
	h := blake3.New(32, nil)
	_, _ = h.Write(head[:16]) // never fails
	_, _ = h.Write(body)
	return [16]byte(h.Sum(nil))
}

// record is one of a journal's: its body is a slice of the journal.
type record struct {
	kind byte
	addr int64
	body []byte
}

// parseRecord reads the record at the head of b and gives its length; 0: there is no intact one.
func parseRecord(b []byte) (record, int) {
	if len(b) < recordHead || string(b[:3]) != recordMagic {
		return record{}, 0
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > maxRecord || int(n) > len(b)-recordHead {
		return record{}, 0
	}
	addr := binary.LittleEndian.Uint64(b[8:])
	if addr > maxAddr {
		return record{}, 0
	}
	r := record{kind: b[3], addr: int64(addr), body: b[recordHead : recordHead+n : recordHead+n]}
	if recordSum(b, r.body) != [16]byte(b[16:]) {
		return record{}, 0
	}
	return r, recordHead + int(n)
}

// scanJournal reads all intact records of a journal. valid is where the first one that is not intact would begin. A
// crash tears the end: what follows there is a leftover. Else the journal is damaged.
func scanJournal(b []byte) (list []record, valid int64, damaged bool) {
	if len(b) < journalHead || string(b[:8]) != journalMagic {
		return nil, 0, len(b) >= journalHead && !headLost(b)
	}
	at, gap := journalHead, false
	valid = journalHead
	for at < len(b) {
		r, n := parseRecord(b[at:])
		if n == 0 {
			gap = true
			i := bytes.Index(b[at+1:], []byte(recordMagic))
			if i < 0 {
				break
			}
			at += 1 + i
			continue
		}
		if gap && lost(b, int(valid), at) {
			return list, valid, false // what follows was never acknowledged either
		}
		list = append(list, r)
		at += n
		if gap {
			damaged = true
		} else {
			valid = int64(at)
		}
	}
	return list, valid, damaged || gap && !torn(b[valid:]) && !lost(b, int(valid), len(b))
}

// headLost tells whether the disk did not get the head of a file.
func headLost(b []byte) bool { return zero(b[:min(len(b), sector)]) }

// sector is what a disk writes in one piece.
const sector = 512

// lost tells whether the bytes of a file from one place to another, where something whole should begin, are a write of which
// the disk did not get all before the power went: there is a sector that was never written. No sync can have returned since.
func lost(b []byte, from, to int) bool {
	for at := from; at < to; {
		end := (at/sector + 1) * sector
		if end <= to || to == len(b) {
			end = min(end, to)
			if zero(b[at:end]) && (at == from || end-at == sector || end == len(b)) {
				return true
			}
		}
		at = end
	}
	return false
}

// torn tells whether b, which is no record, is one that was not written whole: the file ends within it, or has a hole
// where the disk did not get its bytes.
func torn(b []byte) bool {
	if len(b) < recordHead || zero(b) {
		return true
	}
	return string(b[:3]) == recordMagic && int64(binary.LittleEndian.Uint32(b[4:])) > int64(len(b)-recordHead)
}

func zero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
