package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError is the usage error for what pflag found wrong with a command line of c.
func flagError(c *cobra.Command, err error) error {
	see := fmt.Sprintf(" (see %s --help)", c.CommandPath())
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		name := "--" + unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); slices.Contains(known, "--"+letters) { // -json
			return usageError{fmt.Sprintf("unknown flag: -%s; did you mean --%s?%s", letters, letters, see)}
		} else if letters != "" {
			return usageError{fmt.Sprintf("unknown flag: -%s%s", unknown.GetSpecifiedName(), see)}
		}
		return usageError{"unknown flag: " + name + didYouMean(name, known) + see}
	}
	if none := (*pflag.ValueRequiredError)(nil); errors.As(err, &none) {
		return usageError{fmt.Sprintf("--%s needs a value: %s%s", none.GetFlag().Name, none.GetFlag().Usage, see)}
	}
	return usageError{wrongFlagValue(err).Error()}
}

// wrongFlagValue says in plain words what pflag says of a value that a flag does not take. Other errors it returns as they are.
func wrongFlagValue(err error) error {
	bad := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	what := map[string]string{"int": "a whole number", "int64": "a whole number", "bool": "true or false", "duration": "a time like 2s or 5m"}[bad.GetFlag().Value.Type()]
	switch {
	case what == "":
		return fmt.Errorf("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s is %s, and %s is too large for one", bad.GetFlag().Name, what, bad.GetValue())
	}
	return fmt.Errorf("--%s is %s, not %q", bad.GetFlag().Name, what, bad.GetValue())
}

// isOneOf is the usage error of a flag whose value is not in list.
func isOneOf(flag, value string, list []string) error {
	if slices.Contains(list, value) {
		return nil
	}
	return usageError{fmt.Sprintf("%s is one of %s, not %q%s", flag, strings.Join(list, ", "), value, didYouMean(value, list))}
}

// isWithin is the usage error of a flag whose value is not from least to most.
func isWithin(flag string, value, least, most int) error {
	if value >= least && value <= most {
		return nil
	}
	if most == math.MaxInt32 { // no limit that anybody meets
		return usageError{fmt.Sprintf("%s is a number from %d on, not %d", flag, least, value)}
	}
	return usageError{fmt.Sprintf("%s is a number from %d to %d, not %d", flag, least, most, value)}
}

// didYouMean asks for those of list that word is a misspelling or the beginning of; "" when there are none.
func didYouMean(word string, list []string) string {
	var near []string
	for _, known := range nearest(word, list) {
		if distance(word, known) <= 2 && len(word) > 3 || len(word) > 2 && strings.HasPrefix(known, word) {
			near = append(near, known)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
