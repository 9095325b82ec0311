package compile

// The files under context/ that agents and people write for the compiler.
const (
	ConstraintsFile = "context/constraints.jsonl"
	PreferencesFile = "context/preferences.jsonl"
	SuccessFile     = "context/success.jsonl"
	PlanFile        = "context/plan.jsonl"
	ToolsFile       = "context/tools.jsonl"
	PolicyFile      = "context/policy.json"
)

// Authored holds those files as they are; nil is none.
type Authored struct{ Constraints, Preferences, Success, Plan, Tools, Policy []byte }

// Check tells what is wrong with one of those files; nil when it is good. Its error is a *Problem.
func Check(file string, data []byte) error {
	var err error
	switch file {
	case ConstraintsFile:
		_, err = ParseConstraints(data)
	case PreferencesFile:
		_, err = ParsePreferences(data)
	case SuccessFile:
		_, err = ParseSuccess(data)
	case PlanFile:
		_, err = ParsePlan(data)
	case ToolsFile:
		_, err = ParseTools(data)
	case PolicyFile:
		_, err = ParsePolicy(data)
	default:
		return &Problem{File: file, Text: "is no file that the compiler reads"}
	}
	return err
}

// Constraint is a line of constraints.jsonl: what must hold.
type Constraint struct {
	ID, Text, Source, Severity string
	AppliesTo                  []string
	Line                       int
	Extra                      Extra
}

func severities() []string { return []string{"info", "low", "medium", "high", "blocking"} }

// ParseConstraints reads constraints.jsonl.
func ParseConstraints(data []byte) (out []Constraint, err error) {
	seen := ids{}
	err = readLines(ConstraintsFile, data, func(f *fields) {
		c := Constraint{Text: f.text("text", MaxText, true), Source: f.text("source", MaxName, false), Severity: f.optional("severity", severities()...),
			AppliesTo: f.list("applies_to"), Line: f.line}
		c.ID = seen.of(f, "constraint", c.Text)
		c.Extra = f.rest()
		out = append(out, c)
	})
	return keep(out, err)
}

// Preference is a line of preferences.jsonl: what is liked better, by a weight from 0 to 1.
type Preference struct {
	ID, Text, Source string
	Weight           *float64
	Line             int
	Extra            Extra
}

// ParsePreferences reads preferences.jsonl.
func ParsePreferences(data []byte) (out []Preference, err error) {
	seen := ids{}
	err = readLines(PreferencesFile, data, func(f *fields) {
		p := Preference{Text: f.text("text", MaxText, true), Source: f.text("source", MaxName, false), Weight: f.number("weight", 0, 1), Line: f.line}
		p.ID = seen.of(f, "preference", p.Text)
		p.Extra = f.rest()
		out = append(out, p)
	})
	return keep(out, err)
}

// Criterion is a line of success.jsonl: how one can tell that the work is done. Check is a command or an evaluator.
type Criterion struct {
	ID, Text, Check, Source, Status string
	Line                            int
	Extra                           Extra
}

// ParseSuccess reads success.jsonl.
func ParseSuccess(data []byte) (out []Criterion, err error) {
	seen := ids{}
	err = readLines(SuccessFile, data, func(f *fields) {
		c := Criterion{Text: f.text("text", MaxText, true), Check: f.text("check", MaxText, false), Source: f.text("source", MaxName, false),
			Status: f.optional("status", "open", "met", "failed"), Line: f.line}
		c.ID = seen.of(f, "success", c.Text)
		c.Extra = f.rest()
		out = append(out, c)
	})
	return keep(out, err)
}

// Step is a line of plan.jsonl.
type Step struct {
	ID, Text, Source, Status string
	DependsOn                []string
	Line                     int
	Extra                    Extra
}

// ParsePlan reads plan.jsonl. A step may only depend on steps of the plan.
func ParsePlan(data []byte) (out []Step, err error) {
	seen := ids{}
	err = readLines(PlanFile, data, func(f *fields) {
		s := Step{Text: f.text("text", MaxText, true), Source: f.text("source", MaxName, false), DependsOn: f.list("depends_on"),
			Status: f.word("status", "pending", "pending", "in_progress", "completed", "cancelled"), Line: f.line}
		s.ID = seen.of(f, "step", s.Text)
		s.Extra = f.rest()
		out = append(out, s)
	})
	for _, s := range out {
		for _, d := range s.DependsOn {
			if _, ok := seen[d]; !ok && err == nil {
				err = &Problem{File: PlanFile, Line: s.Line, Field: "depends_on", Text: "names " + clip(d) + ", and no step has that id: add the step, or remove the name"}
			}
		}
	}
	return keep(out, err)
}

// keep gives nothing of a file with an error.
func keep[T any](list []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return list, nil
}
