package session

import "strings"

// MaxName is the longest name of an agent, model, session, share or child, in bytes (design: section 2).
const MaxName = 64

// CheckName tells whether name may name an agent, model, share or child: [A-Za-z0-9][A-Za-z0-9._+-]{0,63}, not
// ending in ".sock" or ".d". Its error is Invalid or NameTooLong.
func CheckName(name string) error {
	if len(name) > MaxName {
		return refuse(NameTooLong, "the name is longer than %d bytes: %.20q...", MaxName, name)
	}
	if name == "" || !alnum(name[0]) {
		return refuse(Invalid, "%q is not a name: it must start with a letter or digit", name)
	}
	for i := range len(name) {
		if c := name[i]; !alnum(c) && !strings.ContainsRune("._+-", rune(c)) {
			return refuse(Invalid, "%q is not a name: letters, digits, '.', '_', '+' and '-' only", name)
		}
	}
	if strings.HasSuffix(name, ".sock") || strings.HasSuffix(name, ".d") {
		return refuse(Invalid, "%q is not a name: '.sock' and '.d' are reserved endings", name)
	}
	return nil
}

// CheckSessionName is CheckName, and refuses the reserved name "index".
func CheckSessionName(name string) error {
	if name == "index" {
		return refuse(Invalid, "%q is reserved for the session index", name)
	}
	return CheckName(name)
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
