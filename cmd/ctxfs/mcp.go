package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"ctxfs/internal/mcp"

	"github.com/spf13/cobra"
)

func newMCP() *cobra.Command {
	var mount, addr, tokenFile string
	cmd := &cobra.Command{
		Use: "mcp", Short: "serve sessions to clients of the Model Context Protocol",
		Long: `Serve the sessions of a mount to a client of the Model Context Protocol: on standard input and output, or with --http to any
number of clients at http://ADDR/mcp (streamable HTTP), on loopback addresses only. Clients see what you may see.

Resources: the files of the mount (ctxfs:///home/1000/agent/coder/session/fix-42/context/pack.md). Tools: sessions, pack, recall,
open, history, append. Prompts: continue, recall.

Other users of the host reach a loopback port too. So clients must send "Authorization: Bearer TOKEN"; the token is in a file that
only you can read, which is made when it is not there.`,
		Example: "  ctxfs mcp\n  ctxfs mcp --http 127.0.0.1:7333", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			point, err := pickMount(mount)
			if err != nil {
				return err
			}
			s, err := mcp.New(mcp.Options{Point: point, UID: os.Getuid(), Version: version})
			if err != nil {
				return err
			}
			defer s.Close()
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if addr != "" {
				return serveMCP(ctx, cmd, s, addr, tokenFile)
			}
			if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&mount, "mount", "", "mountpoint (default: $CTXFS_MOUNT, /ctx, or the only mount)")
	fl.StringVar(&addr, "http", "", "serve at this loopback address and port, like 127.0.0.1:7333; port 0: any that is free")
	fl.StringVar(&tokenFile, "token-file", "", "file of the token (default $XDG_RUNTIME_DIR/ctxfs/mcp-token; without that, ~/.local/state/ctxfs/mcp-token)")
	return cmd
}

func serveMCP(ctx context.Context, cmd *cobra.Command, s *mcp.Server, addr, tokenFile string) error {
	if tokenFile == "" {
		tokenFile = defaultTokenFile()
	}
	token, err := mcpToken(tokenFile)
	if err != nil {
		return err
	}
	l, err := mcp.Listen(addr)
	if errors.Is(err, mcp.ErrNotLoopback) {
		return usageError{"--http " + err.Error()}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "listening at http://%s/mcp, token in %s\n", l.Addr(), tokenFile)
	return s.Serve(ctx, l, token)
}

// defaultTokenFile is in the user's runtime directory, which ends with the login, else among what programs keep of their state
// (XDG Base Directory).
func defaultTokenFile() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "ctxfs", "mcp-token")
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "ctxfs", "mcp-token")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "mcp-token"
	}
	return filepath.Join(home, ".local/state/ctxfs/mcp-token")
}

// mcpToken reads the token, or makes one. A file that others may read is refused.
func mcpToken(file string) (string, error) {
	st, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		token := rand.Text()
		return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others (chmod 600 %s, and write another token)", file, file)
	}
	data, err := os.ReadFile(file)
	token := strings.TrimSpace(string(data))
	if err == nil && len(token) < 16 {
		err = fmt.Errorf("%s: a token has 16 characters or more (remove the file, and one is made)", file)
	}
	return token, err
}
