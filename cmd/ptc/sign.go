package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ptc/runtime/program"
	"ptc/runtime/signature"
)

func newSign(a *app) *cobra.Command {
	var key, fresh string
	cmd := &cobra.Command{
		Use:   "sign PLAN --key FILE | sign --new-key FILE",
		Short: "Sign a plan, so that ptc run --trust accepts it",
		Long: `Sign a plan with a secret key, and write the signature to PLAN.minisig. Keys and
signatures are minisign's: "minisign -G" makes keys for ptc, and
"minisign -Vm PLAN -p FILE.pub" checks what ptc has signed.

--new-key writes a secret key to FILE and its public key to FILE.pub. A password
protects the secret key; with an empty one, anyone who reads the file can use it.
Passwords are read from a terminal, or else as a line of the standard input.`,
		Example: `  ptc sign --new-key my.key
  ptc sign plan.bin --key my.key
  ptc run plan.bin --trust my.key.pub`,
		Args: func(cmd *cobra.Command, args []string) error {
			if fresh != "" {
				return exactly()(cmd, args)
			}
			return exactly("PLAN")(cmd, args)
		},
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case fresh != "":
				return a.newKey(fresh)
			case key == "":
				return usagef("--key is missing: a secret key, which `ptc sign --new-key FILE` makes")
			}
			return a.sign(args[0], key)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "sign with the secret key in `FILE`")
	cmd.Flags().StringVar(&fresh, "new-key", "", "make a pair of keys, `FILE` and FILE.pub")
	cmd.MarkFlagsMutuallyExclusive("key", "new-key")
	return cmd
}

func (a *app) sign(path, key string) error {
	plan, data, err := program.Read(path)
	if err != nil {
		return fileError(err)
	}
	secret, err := signature.ReadSecret(key)
	if err != nil {
		return fileError(err)
	}
	password := ""
	if secret.Encrypted() {
		if password, err = a.password("password of " + key + ": "); err != nil {
			return err
		}
	}
	sig, err := secret.Sign(password, data, fmt.Sprintf("plan of %s, layout %s, for %s", plan.Name, plan.Layout, plan.Target))
	if err != nil {
		return fileError(fmt.Errorf("%s: %w", key, err))
	}
	if err := a.writeFile(path+signature.Suffix, sig); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s -> %s\n", path, path+signature.Suffix)
	return nil
}

// newKey makes a pair of keys. It replaces none: what the old one signed would be
// lost.
func (a *app) newKey(path string) error {
	for _, name := range []string{path, path + ".pub"} {
		if _, err := os.Lstat(name); err == nil {
			return fileError(fmt.Errorf("%s is there already, and a key is not replaced; name another file", name))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fileError(wrapWrite(name, err))
		}
	}
	password, err := a.password("new password for " + path + ", empty for none: ")
	if err != nil {
		return err
	}
	if a.terminal() && password != "" {
		again, err := a.password("once more: ")
		if err != nil {
			return err
		}
		if again != password {
			return inputf("the two passwords differ")
		}
	}
	pub, secret, err := signature.NewKey(password)
	if err != nil {
		return fileError(err)
	}
	if err := writeSecret(path, secret); err != nil {
		return fileError(wrapWrite(path, err))
	}
	if err := a.writeFile(path+".pub", pub); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s is the secret key, %s.pub the one to give away\n", path, path)
	return nil
}

// writeSecret makes a file that its owner alone can read, whole or not at all.
func writeSecret(path string, secret []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(secret)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(path) // the first error is the one to tell
	}
	return err
}

// terminal says whether someone types on the standard input.
func (a *app) terminal() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// password asks for a password, without showing it, or reads a line.
func (a *app) password(ask string) (string, error) {
	if !a.terminal() {
		return a.line()
	}
	fmt.Fprint(a.err, ask)
	text, err := term.ReadPassword(int(a.in.(*os.File).Fd()))
	fmt.Fprintln(a.err)
	if err != nil {
		return "", inputf("cannot read the password: %w", err)
	}
	return string(text), nil
}

// line reads a line of the standard input, byte by byte so that what follows
// stays for others. The end of the input ends it too.
func (a *app) line() (string, error) {
	var text bytes.Buffer
	b := make([]byte, 1)
	for {
		n, err := a.in.Read(b)
		if n == 1 && b[0] != '\n' {
			text.WriteByte(b[0])
		}
		switch {
		case n == 1 && b[0] == '\n', errors.Is(err, io.EOF):
			return strings.TrimSuffix(text.String(), "\r"), nil
		case err != nil:
			return "", inputf("cannot read the password: %w", err)
		case text.Len() > 4096:
			return "", inputf("the password is longer than 4096 bytes")
		}
	}
}
