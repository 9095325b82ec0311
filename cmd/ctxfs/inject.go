package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/context/trace"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

func newInject() *cobra.Command {
	var target, point, file, native string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "inject SESSION", Short: "record that a session's pack was shown to a model, a tool, a person",
		Long: `Record that context/pack.md, or another file of the session, was shown as it is now: a line in context/injections.jsonl, with
the id of the context and the hash of the bytes, which are kept. ctxfs replay prints them again. It is the same as to append
{"target":...,"injection_point":...} to that file, which any program can do.`,
		Example: "  ctxfs inject . --point system_prompt\n  ctxfs inject . --target tool --point tool_visible_resource --file context/todo.md", Args: exactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return errors.Join(isOneOf("--target", target, session.InjectionTargets()), isOneOf("--point", point, session.InjectionPoints()))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			inj, err := inject(args[0], map[string]string{"target": target, "injection_point": point, "file": file, "native_id": native})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), inj)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %v shown to %s at %s (%s)\n", inj.ContextID, inj.Metadata["file"], inj.Target, inj.Point, inj.InjectionID)
			return nil
		},
	}
	cmd.Flags().StringVar(&target, "target", "model", "who saw it: "+strings.Join(session.InjectionTargets(), ", "))
	cmd.Flags().StringVar(&point, "point", "message_history", "where: "+strings.Join(session.InjectionPoints(), ", "))
	cmd.Flags().StringVar(&file, "file", "context/pack.md", "what, in the session: a pack, or another file")
	cmd.Flags().StringVar(&native, "native-id", "", "the id of it where it was shown, as a response's of a model API")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the record")
	return takesSession(cmd, findMounted)
}

// inject appends the declaration, and reads what the daemon made of it.
func inject(dir string, fields map[string]string) (*trace.Injection, error) {
	for k, v := range fields {
		if v == "" {
			delete(fields, k)
		}
	}
	line, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if file := fields["file"]; !filepath.IsLocal(file) || !exists(filepath.Join(dir, file)) {
		return nil, &session.Error{Kind: session.NotFound, Msg: "--file: the session has no file " + printable(file), Hint: "it is a path in the session, like context/todo.md"}
	}
	name := filepath.Join(dir, session.Injections)
	f, err := openAppend(name)
	if err != nil {
		return nil, err
	}
	if err := f.line(line); err != nil {
		return nil, err
	}
	if err := f.close(); err != nil {
		return nil, err
	}
	list, err := readInjections(dir)
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("%s: the injection is not there: %w", name, err)
	}
	return &list[len(list)-1], nil
}

func readInjections(dir string) ([]trace.Injection, error) {
	data, err := os.ReadFile(filepath.Join(dir, session.Injections))
	if err != nil {
		return nil, err
	}
	var out []trace.Injection
	for dec := json.NewDecoder(strings.NewReader(string(data))); dec.More(); {
		var inj trace.Injection
		if err := dec.Decode(&inj); err != nil {
			return nil, fmt.Errorf("%s: %w", session.Injections, err)
		}
		out = append(out, inj)
	}
	return out, nil
}

func newReplay() *cobra.Command {
	var dir string
	var asJSON, list bool
	cmd := &cobra.Command{
		Use: "replay [CONTEXT-ID]", Short: "print what was shown then, byte for byte",
		Long: `Print the bytes that an injection of a session showed. The id is that of a context (ctx-...) or of an injection
(injection-...); of a context that was shown more than once, the pack. --json prints its pack.json: why it was so. They are
kept for as long as pack_ttl in context/gc.policy says.`,
		Example: "  ctxfs replay --list\n  ctxfs replay ctx-9f86d081884c7d65\n  ctxfs replay ctx-9f86d081884c7d65 --json | jq .items", Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := findMounted(dir)
			if err != nil {
				return fmt.Errorf("--session: %w", err)
			}
			all, err := readInjections(dir)
			if err != nil {
				return err
			}
			if list || len(args) == 0 {
				for _, inj := range all {
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s  %s  %v\n", inj.CreatedAt, inj.ContextID, inj.InjectionID, inj.Target, inj.Point, inj.Metadata["file"])
				}
				return nil
			}
			data, err := replay(dir, all, args[0], asJSON)
			if err == nil {
				_, err = cmd.OutOrStdout().Write(data)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "session", ".", "the session: AGENT/SESSION, or its path")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the pack.json of that context")
	cmd.Flags().BoolVar(&list, "list", false, "list what was shown in the session")
	return cmd
}

// replay reads the bytes of an injection. Of several of one context the first of a pack counts.
func replay(dir string, all []trace.Injection, id string, asJSON bool) ([]byte, error) {
	var found *trace.Injection
	for i := range all {
		inj := &all[i]
		if inj.InjectionID == id {
			found = inj
			break
		}
		file, _ := inj.Metadata["file"].(string)
		if _, isPack := session.PackName(strings.TrimPrefix(file, "context/")); inj.ContextID == id && (found == nil || isPack) {
			found = inj
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s was not shown in this session: %w (ctxfs replay --list)", printable(id), os.ErrNotExist)
	}
	hash := found.Hash
	if asJSON {
		hash, _ = found.Metadata["pack_json"].(string)
	}
	data, err := os.ReadFile(filepath.Join(dir, "context/dedup/blob", hash))
	if err != nil {
		return nil, fmt.Errorf("the bytes of %s are not kept any more (pack_ttl in context/gc.policy): %w", id, err)
	}
	return data, nil
}
