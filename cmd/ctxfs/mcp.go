package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"ctxfs/internal/mcp"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newMCP() *cobra.Command {
	var mount, addr, tokenFile string
	cmd := &cobra.Command{
		Use: "mcp", Short: "serve sessions to clients of the Model Context Protocol",
		Long: `Serve the sessions of a mount to a client of the Model Context Protocol: on standard input and output, or with --http to any
number of clients at http://ADDR/mcp (streamable HTTP), on loopback addresses only. Clients see what you may see.

Resources: the files of the mount (ctxfs:///home/1000/agent/coder/session/fix-42/context/pack.md). Tools: sessions, pack, recall,
open, history, append. Prompts: continue, recall.

The mount is looked for at each request: the server starts without one, says so to whoever calls a tool, and works once there is one.

Other users of the host reach a loopback port too. So clients must send "Authorization: Bearer TOKEN"; the token is in a file of
yours that only you can read, which is made when it is not there.`,
		Example: "  ctxfs mcp\n  ctxfs mcp --http 127.0.0.1:7333", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := mcp.New(mcp.Options{Mount: func() (string, error) { return mcpMount(mount) }, FS: unix.FUSE_SUPER_MAGIC, UID: os.Getuid(), Version: version})
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
	addMountFlag(cmd, &mount)
	fl.StringVar(&addr, "http", "", "serve at this loopback address and port, like 127.0.0.1:7333; port 0: any that is free")
	fl.StringVar(&tokenFile, "token-file", "", "file of the token (default $XDG_RUNTIME_DIR/ctxfs/mcp-token; without that, ~/.local/state/ctxfs/mcp-token)")
	return cmd
}

// mcpMount finds the mount for one request of a client. Who reads the error configures a client, or asks somebody who does.
func mcpMount(named string) (string, error) {
	point, err := pickMount(named)
	if errors.As(err, new(usageError)) {
		err = fmt.Errorf("%w; in a client's configuration: ctxfs mcp --mount DIR", err)
	}
	return point, err
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

// mcpToken reads the token, or makes one. A file that others may read is refused, and one that others made or could put there: they
// know the token, and would do through the server what its user may.
func mcpToken(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return newToken(file)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := privateToken(f); err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 {
		return "", fmt.Errorf("%s: a token has 16 characters or more (remove the file, and one is made)", file)
	}
	return token, nil
}

func privateToken(f *os.File) error {
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file: name one with --token-file", f.Name())
	case st.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be read by others (chmod 600 %s, and write another token)", f.Name(), f.Name())
	}
	if err := ownToken(f.Name(), st); err != nil {
		return err
	}
	return ownTokenFolder(f.Name())
}

// newToken makes the file of a token, which must not be there: a link that somebody left is not followed.
func newToken(file string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if err := ownTokenFolder(file); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	token := rand.Text()
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file))
	}
	return token, nil
}

// ownTokenFolder tells, by an error, that somebody else may put files into the folder of a token: sudo can leave XDG_RUNTIME_DIR as it
// was, another user's.
func ownTokenFolder(file string) error {
	dir := filepath.Dir(file)
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid == 0 {
		return nil
	}
	return ownToken(dir, st)
}

func ownToken(name string, st os.FileInfo) error {
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not yours (uid %d): name a file of your own with --token-file", name, os.Getuid())
	}
	return nil
}
