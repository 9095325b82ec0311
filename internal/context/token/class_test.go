package token

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestClassesAgreeWithGo compares all characters that Go's tables know. Those assigned since are what the table is
// for: it must have some of each kind.
func TestClassesAgreeWithGo(t *testing.T) {
	c, err := newClasses(classText)
	if err != nil {
		t.Fatal(err)
	}
	newer := make(map[class]int)
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		b := utf8.AppendRune(nil, r)
		got, n := c.at(b, 0)
		if n != len(b) {
			t.Fatalf("%U: %d bytes, want %d", r, n, len(b))
		}
		if want := goClass(r); got == want {
			continue
		} else if want != other || unicode.In(r, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co) {
			t.Errorf("%U: class %b, Go has %b", r, got, want)
		}
		newer[got]++
	}
	t.Logf("characters that Go %s does not know: %d letters, %d marks, %d numbers", unicode.Version,
		newer[upper]+newer[lower]+newer[caseless], newer[mark], newer[number])
	if unicode.Version == "15.0.0" && (newer[caseless] < 600 || newer[upper] == 0 || newer[lower] == 0 || newer[mark] == 0) {
		t.Errorf("newer characters by class: %v", newer)
	}
}

func goClass(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.IsLower(r) && unicode.Is(unicode.Ll, r):
		return lower
	case unicode.IsLetter(r):
		return caseless
	case unicode.IsMark(r):
		return mark
	case unicode.IsNumber(r):
		return number
	}
	return other
}

func TestClassesRefuseBadText(t *testing.T) {
	for _, text := range []string{"x", "0 x\nzz l\n", "20 x\n10 l\n", "0 x\n110000 l\n", " l\n"} {
		if _, err := newClasses(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
