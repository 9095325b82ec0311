package redact

import "strings"

// more is what agents' logs hold and gitleaks' rules miss:
//
//   - url-password: https://user:secret@host and connection strings. gitleaks has them for one product.
//   - authorization-header, bearer-token: gitleaks looks at them in a command line of curl only; agents log requests.
//   - password: what is given to a name with "password" in it, in quotes, or on a command line or in an environment
//     without. gitleaks wants 3.5 bits a character and no punctuation, which people's passwords do not have.
//   - url-parameter: ?api_key=…&, which is followed by what ends no secret of gitleaks.
//   - private-key-begin: the key that head or a cut output shows the beginning of. gitleaks wants its last line.
//
// What stands for a secret (a variable, stars, a word like "password") is none.
func more() []*rule {
	return []*rule{
		{
			ID:       "url-password",
			Regex:    "://[^\\s:/?#@'\"<>\\\\`]{0,64}:([^\\s/?#@'\"<>\\\\`]{2,256})@[\\w\\[.-]",
			Keywords: []string{"://"},
			Allow:    []*allowlist{placeholders()},
		}, {
			ID: "authorization-header",
			Regex: `(?i)authorization(?:\\{0,3}["'])?[ \t]{0,3}[:=][ \t]{0,3}(?:\\{0,3}["'])?` +
				`(?:(?:basic|bearer|token|apikey)[ \t]{1,3})?([a-z0-9._~+/=-]{8,1000})`,
			Entropy:  2.5,
			Keywords: []string{"authorization"},
			Allow:    []*allowlist{placeholders(), onlyWords()},
		}, {
			ID:       "bearer-token",
			Regex:    `(?i)bearer[ \t]{1,3}([a-z0-9._~+/=-]{16,1000})`,
			Entropy:  3,
			Keywords: []string{"bearer"},
			Allow:    []*allowlist{placeholders(), onlyWords()},
		}, {
			ID: "password",
			Regex: `(?i)(?:password|passwd|passphrase)[\w-]{0,20}(?:\\{0,3}["'])?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}` +
				"\\\\{0,3}[\"']([^\\s\"'\\\\<>{}$()\\[\\]`]{6,128})\\\\{0,3}[\"']",
			Keywords: []string{"password", "passwd", "passphrase"},
			Allow:    []*allowlist{placeholders(), onlyWords()},
		}, {
			ID: "password-argument",
			Regex: "(?:PASSWORD|PASSWD|PASSPHRASE|MYSQL_PWD|--password|--passphrase)" +
				"=([^\\s\"'`$(){}\\[\\]<>\\\\;&|,]{4,128})",
			Keywords: []string{"password=", "passwd=", "passphrase=", "mysql_pwd="},
			Allow:    []*allowlist{placeholders()},
		}, {
			ID:       "url-parameter",
			Regex:    `(?i)[?&][\w-]{0,30}(?:key|token|secret|password|passwd|signature|sig|auth)=([\w.~%+-]{12,512})`,
			Entropy:  3,
			Keywords: []string{"key=", "token=", "secret=", "password=", "passwd=", "signature=", "sig=", "auth="},
			Allow:    []*allowlist{placeholders(), onlyWords()},
		}, {
			ID: "private-key-begin",
			Regex: `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----` +
				`((?:(?:[\s\d→|:]|\\+[nrt]){1,24}[A-Za-z0-9+/=]{16,76})+)`,
			Keywords: []string{"-----begin"},
		},
	}
}

// placeholders is what documentation and programs write where a secret would be.
func placeholders() *allowlist {
	return &allowlist{Regexes: []string{
		`^(?i:(?:your|my|the|some|an?|new|old|example|sample|test|dummy|fake|default|change|insert|enter)(?:[-_.][a-z]+)+)$`,
		`^(?i:change(?:me|it|this)|example|placeholder|redacted|user|username|pass|passw(?:or)?d|pwd|pw|secret|token|key|admin|root|postgres|mysql|guest|none|null|true|false|string)[\d!]{0,3}$`,
		`^[$%{<\[]`,
		`^[*.xX-]+$|^(?:xxx|\*\*\*|\.\.\.)`,
	}}
}

// onlyWords is names and words: a secret has a digit or punctuation.
func onlyWords() *allowlist {
	return &allowlist{Regexes: []string{`^[a-zA-Z_.-]+$`}}
}

// Where gitleaks' patterns of unique tokens end. Logs and messages go on with a comma, a bracket or a full stop too; a
// file with code does not.
const (
	strictEnd = `(?:[\x60'"\s;]|\\[nr]|$)`
	looseEnd  = `(?:[^\w/+=-]|$)`
)

// loosen lets tokens that look like nothing else end in any way. What is a secret by the name before it only, stays.
func loosen(rules []*rule) {
	for _, r := range rules {
		if !strings.Contains(r.Regex, `[\w.-]{0,50}?`) {
			r.Regex = strings.ReplaceAll(r.Regex, strictEnd, looseEnd)
		}
	}
}
