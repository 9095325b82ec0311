package record

import (
	"fmt"
	"strconv"
	"strings"
)

// media reads an image, document or audio block of either provider family. The data itself is left in the log.
func media(kind string, m object) Block {
	b := Block{Kind: Image, MediaType: firstString(m, "media_type", "mimeType", "mime_type")}
	var place, sized room
	src, ok := objectOf(m.first("source", "image_url", "file", "input_audio"), place[:0])
	if !ok {
		src = m
	}
	if t := firstString(src, "media_type", "mimeType"); t != "" {
		b.MediaType = t
	}
	data := firstString(src, "data", "file_data")
	url := firstString(src, "url", "ref", "path", "file_id")
	if url == "" {
		url = firstString(m, "image_url", "ref")
	}
	if head, rest, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		b.MediaType, data, url = strings.TrimPrefix(head, "data:"), rest, ""
	}
	b.Ref = url
	b.Bytes = len(strings.TrimRight(data, "=")) * 3 / 4
	if source, ok := objectOf(m.get("source"), sized[:0]); ok {
		if n, err := strconv.Atoi(string(source.get("bytes"))); err == nil { // else the computed size stays
			b.Bytes = n
		}
	}
	if b.MediaType == "" {
		b.MediaType = kind
	}
	return b
}

// Placeholder is what stands for a media block in text: its type, size and reference.
func (b *Block) Placeholder() string {
	s := "[" + b.MediaType
	if b.Bytes > 0 {
		s += fmt.Sprintf(", %d bytes", b.Bytes)
	}
	if b.Ref != "" {
		s += ", " + b.Ref
	}
	return s + "]"
}
