package mounts

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote writes a word for a shell: whoever names a path does not say what a command that is shown does. What cannot be printed is
// written as an escape within $'…' (POSIX.1-2024, sh: Dollar-Single-Quotes), which stays right wherever it is shown.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("_./-+:@%,=", r)
	}
	switch {
	case word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0:
		return word
	case utf8.ValidString(word) && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) < 0:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// FreeCommand returns the command that frees the mountpoint of a daemon that is gone or hangs. It is the one that every message names: it
// works for root and for ordinary users, and asks nothing of the daemon.
func FreeCommand(point string) string {
	list, _ := List() // of what is not listed nothing is known
	m := Mount{Point: point, UID: os.Geteuid()}
	for _, c := range list {
		if c.Point == point {
			m = c
		}
	}
	return m.AsOwner() + "ctxfs umount --lazy " + Quote(point)
}

// AsOwner is what stands before a command to have it run as the user whose mount it is, "" when that is the caller. Root does not work on
// another user's mount: what stands at a path of theirs is theirs to exchange. With a terminal of its own, nothing can type on root's.
func (m Mount) AsOwner() string {
	switch {
	case m.UID == os.Geteuid(), m.UID == nobody:
		return ""
	case m.UID == 0:
		return "sudo "
	}
	id := strconv.Itoa(m.UID)
	u, err := user.LookupId(id)
	switch {
	case os.Geteuid() != 0 && err == nil:
		return "sudo -u " + Quote(u.Username) + " "
	case os.Geteuid() != 0:
		return "sudo -u '#" + id + "' "
	case err == nil:
		return "runuser --pty -u " + Quote(u.Username) + " -- "
	}
	return "setsid -w setpriv --reuid=" + id + " --regid=" + id + " --clear-groups -- "
}
