// Command gen turns the rules of gitleaks (github.com/zricethezav/gitleaks, MIT) into the file that package redact
// embeds. It reads the path of config/gitleaks.toml of a kept version, so that this module needs gitleaks' rules only
// and not the fifty modules of its program:
//
//	go mod download -json github.com/zricethezav/gitleaks/v8@v8.30.1   # says Dir
//	go run ./gen v8.30.1 DIR/config/gitleaks.toml DIR/LICENSE          # in the folder of package redact
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

const outDir = "data/"

// allow is a list of what is no secret: a line of regexps (target secret, match or line), and words in the secret.
type allow struct {
	Condition string   `toml:"condition" json:"-"`
	Paths     []string `toml:"paths" json:"-"`
	Commits   []string `toml:"commits" json:"-"`
	Target    string   `toml:"regexTarget" json:"target,omitempty"`
	Regexes   []string `toml:"regexes" json:"regexes,omitempty"`
	Stopwords []string `toml:"stopwords" json:"stopwords,omitempty"`
}

type rule struct {
	ID          string   `toml:"id" json:"id"`
	Regex       string   `toml:"regex" json:"regex"`
	Path        string   `toml:"path" json:"-"`
	Entropy     float64  `toml:"entropy" json:"entropy,omitempty"`
	SecretGroup int      `toml:"secretGroup" json:"group,omitempty"`
	Keywords    []string `toml:"keywords" json:"keywords"`
	Allow       []allow  `toml:"allowlists" json:"allow,omitempty"`
	Description string   `toml:"description" json:"-"`
}

type config struct {
	Title      string `toml:"title" json:"-"`
	MinVersion string `toml:"minVersion" json:"-"`
	Allowlist  struct {
		allow
		Description string `toml:"description"`
	} `toml:"allowlist"`
	Rules []rule `toml:"rules"`
}

// output is the embedded file.
type output struct {
	Notice  string  `json:"notice"`
	Version string  `json:"version"`
	Allow   []allow `json:"allow"`
	Rules   []rule  `json:"rules"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: gen VERSION GITLEAKS.TOML LICENSE")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(version, path, licence string) error {
	notice, err := os.ReadFile(licence)
	if err != nil {
		return err
	}
	var c config
	meta, err := toml.DecodeFile(path, &c)
	if err != nil {
		return err
	}
	if err := known(meta); err != nil {
		return err
	}
	out := output{Version: version, Notice: "Rules of gitleaks. " + strings.TrimSpace(string(notice)), Allow: keep([]allow{c.Allowlist.allow})}
	for _, r := range c.Rules {
		if r.Path != "" {
			continue // is about files of that name, and a message has none
		}
		if err := check(r); err != nil {
			return err
		}
		r.Allow = keep(r.Allow)
		out.Rules = append(out.Rules, r)
	}
	log.Printf("%d rules of %d", len(out.Rules), len(c.Rules))
	return write(out, notice)
}

// known refuses a file that says what this program would drop unseen.
func known(meta toml.MetaData) error {
	for _, key := range meta.Undecoded() {
		switch s := key.String(); s {
		case "rules.allowlists.description", "rules.tags":
		default:
			return fmt.Errorf("unknown key %s", s)
		}
	}
	return nil
}

func check(r rule) error {
	re, err := regexp.Compile(r.Regex)
	if err != nil {
		return fmt.Errorf("%s: %w", r.ID, err)
	}
	if len(r.Keywords) == 0 || r.SecretGroup > re.NumSubexp() {
		return fmt.Errorf("%s: no keywords, or no such group", r.ID)
	}
	for i, k := range r.Keywords {
		if r.Keywords[i] = strings.ToLower(k); k == "" {
			return fmt.Errorf("%s: empty keyword", r.ID)
		}
	}
	return nil
}

// keep drops what is about paths: an "and" list with paths never allows a text without one.
func keep(lists []allow) []allow {
	var out []allow
	for _, a := range lists {
		and := strings.EqualFold(a.Condition, "and") || a.Condition == "&&"
		if and && len(a.Paths)+len(a.Commits) > 0 || len(a.Regexes)+len(a.Stopwords) == 0 {
			continue
		}
		if and && len(a.Regexes) > 0 && len(a.Stopwords) > 0 {
			log.Fatal("an allowlist with both regexes and stopwords under the condition and is not implemented")
		}
		out = append(out, a)
	}
	return out
}

func write(out output, licence []byte) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	if err := os.WriteFile(outDir+"LICENSE.gitleaks", licence, 0o644); err != nil {
		return err
	}
	return os.WriteFile(outDir+"gitleaks.json", text.Bytes(), 0o644)
}
