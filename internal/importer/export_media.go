package importer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// media is a picture, a document or a sound that is exported.
type media struct {
	kind, mime string // kind: image, document, audio
	data       string // base64; "" when there is only a URL
	url        string
	rest       object // the other members of its block
}

// mediaOf reads a block as an import writes it: by reference, or where it is. When its data is not here, ok is false.
func (e *exporter) mediaOf(b object) (m media, ok bool) {
	src := b.obj("source")
	m = media{kind: b.str("type"), mime: src.str("media_type"), url: src.str("url"), rest: b.without("type", "source")}
	switch src.str("type") {
	case "ref":
		data, err := e.blob(src.str("ref"))
		if err != nil {
			return m, false
		}
		if m.data = base64.StdEncoding.EncodeToString(data); src.str("encoding") == "base64" {
			m.data = string(data) // what the log held was no base64
		}
		return m, true
	case "base64":
		m.data = src.str("data")
		return m, m.data != ""
	}
	if m.url == "" {
		m.url = firstSet(b.str("image_url"), b.obj("image_url").str("url"))
	}
	return m, m.url != ""
}

func (e *exporter) blob(ref string) ([]byte, error) {
	if data, ok := e.inline[ref]; ok {
		return data, nil
	}
	if e.in.Blob == nil {
		return nil, fmt.Errorf("%s: there are no blobs", ref)
	}
	return e.in.Blob(ref)
}

// isMedia tells whether a block is a picture, a document or a sound.
func isMedia(b object) bool {
	return oneOf(b.str("type"), "image", "document", "audio", "image_url", "input_image", "file", "input_audio")
}

// placeholder is a text in the place of what cannot be exported.
func placeholder(b object) json.RawMessage {
	src := b.obj("source")
	s := firstSet(src.str("media_type"), b.str("type"))
	if n := string(src.get("bytes")); n != "" {
		s += ", " + n + " bytes"
	}
	if ref := firstSet(src.str("ref"), src.str("url")); ref != "" {
		s += ", " + ref
	}
	return textBlock("[" + s + "]")
}

// dataURL gives the URL of m: its data, or where it is.
func (m *media) dataURL() string {
	if m.data == "" {
		return m.url
	}
	return "data:" + m.mime + ";base64," + m.data
}
