package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"ctxfs/internal/frames"

	"github.com/spf13/cobra"
)

func newSend() *cobra.Command {
	var a agentFlags
	var scope, cwd, id string
	var asJSON, eachLine bool
	cmd := &cobra.Command{
		Use: "send AGENT TEXT", Short: "send a message to an agent, and print its answer as it comes",
		Long: `Record TEXT (or what stands on stdin, for -) as a user's message of a session of AGENT, have the process that serves the
agent work on it, and print what it answers. When nobody serves it, the message is recorded all the same, and the exit
code is 13. Sending again with the same --id gives the same answer, and records nothing twice. With --each-line every line
of stdin is a message, sent when the one before it is answered; a session of scope temp lasts that long.`,
		Example: "  ctxfs send coder 'what is left to do?'\n  git diff | ctxfs send coder - --session review\n  ctxfs send coder 'again, please' --id m-17 --json\n  ctxfs send coder - --each-line --scope temp", Args: exactArgs(2),
		PreRunE: func(*cobra.Command, []string) error { return checkScope(scope) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if eachLine && (args[1] != "-" || id != "") {
				return usageError{"--each-line takes the messages from stdin, for -, and gives each an id"}
			}
			text, err := "", error(nil)
			if !eachLine {
				text, err = messageText(cmd, args[1])
			}
			if err == nil && !eachLine && text == "" {
				err = usageError{"there is nothing to send: TEXT is empty"}
			}
			if err != nil {
				return err
			}
			s, err := a.socket(args[0])
			if err != nil {
				return err
			}
			defer s.close()
			send := func(id, text string) error {
				err := s.ask(map[string]any{"op": frames.Send, "id": id, "session": a.session, "scope": a.scope(scope), "share": a.share, "cwd": cwd, "input": text})
				if err != nil {
					return err
				}
				return showAnswer(cmd.OutOrStdout(), s, asJSON)
			}
			if eachLine {
				return sendLines(cmd.InOrStdin(), func(text string) error { return send(randomID(), text) })
			}
			if id == "" {
				id = randomID()
			}
			return send(id, text)
		},
	}
	a.addMount(cmd)
	fl := cmd.Flags()
	fl.StringVar(&a.session, "session", "", "session, made if it is not there (default: default)")
	fl.StringVar(&scope, "scope", "", "private, shared (--share, else the only share), or temp, which ends with this command (default private)")
	fl.StringVar(&cwd, "cwd", "", "directory in the agent's root that the session is to stand in")
	fl.StringVar(&id, "id", "", "id of the message (default: a random one)")
	fl.BoolVar(&eachLine, "each-line", false, "every line of stdin is a message of its own")
	fl.BoolVar(&asJSON, "json", false, "print the frames as they come")
	return cmd
}

// sendLines sends each line that has words in it. That nobody serves keeps no message from being recorded.
func sendLines(r io.Reader, send func(text string) error) (unserved error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSuffix(line, "\n"); strings.TrimSpace(text) != "" {
			serr := send(text)
			if serr != nil && !errors.Is(serr, errNoAgent) {
				return serr
			}
			if unserved == nil { // said once
				unserved = serr
			}
		}
		if err == io.EOF {
			return unserved
		}
		if err != nil {
			return err
		}
	}
}

// checkScope refuses a scope that there is not.
func checkScope(scope string) error {
	return isOneOf("--scope", orElse(scope, frames.Private), []string{frames.Private, frames.Shared, frames.Temp})
}

// scope is the scope of the session that the flags name.
func (a *agentFlags) scope(named string) string {
	if named == "" && a.share != "" {
		return frames.Shared
	}
	return named
}

func messageText(cmd *cobra.Command, arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), frames.MaxFrame+1))
	return string(data), err
}

func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "ctx-" + hex.EncodeToString(b[:])
}

// showAnswer prints the words of an answer, or with asJSON all frames.
func showAnswer(w io.Writer, s *socket, asJSON bool) error {
	streamed := ""
	err := s.answers(func(line []byte, r *frames.Reply) error {
		var err error
		switch {
		case asJSON:
			_, err = w.Write(line)
		case r.Type == frames.Delta:
			streamed += r.Text
			_, err = io.WriteString(w, printable(r.Text))
		case r.Type == frames.Message && r.Role == "assistant" && streamed == "":
			streamed = words(r)
			_, err = io.WriteString(w, printable(streamed))
		}
		return err
	})
	if streamed != "" && !strings.HasSuffix(streamed, "\n") {
		fmt.Fprintln(w)
	}
	return err
}

// words are the text blocks of a message frame.
func words(r *frames.Reply) string {
	var texts []string
	for _, b := range r.Content {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
