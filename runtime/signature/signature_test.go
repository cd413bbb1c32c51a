package signature_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/signature"
)

// TestSignAndCheck: only an unchanged file with an unchanged signature by one of
// the keys that were given counts.
func TestSignAndCheck(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(at(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pub, secret, err := signature.NewKey("")
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := signature.NewKey("")
	if err != nil {
		t.Fatal(err)
	}
	put("ours.key", secret)
	put("ours.pub", pub)
	put("other.pub", other)
	put("both.txt", append(append([]byte("# people\n\n"), other...), pub...))
	put("bad.txt", []byte("not a key\n"))
	put("none.txt", []byte("# nobody\n"))
	s, err := signature.ReadSecret(at("ours.key"))
	if err != nil || s.Encrypted() {
		t.Fatal("encrypted without a password", err)
	}
	data := []byte("a plan")
	sig, err := s.Sign("", data, "model\nlayout")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.Sign("", data, "model\nlayout"); string(again) != string(sig) {
		t.Error("signing twice gives different bytes")
	}
	put("plan.minisig", sig)
	put("garbage.minisig", []byte("garbage"))
	put("cut.minisig", sig[:len(sig)-20])
	put("comment.minisig", []byte(strings.Replace(string(sig), "model", "nodel", 1)))
	for _, c := range []struct{ keys, file, data, say string }{
		{"ours.pub", "plan", "a plan", ""},
		{"both.txt", "plan", "a plan", ""},
		{"", "plan", "a plan", ""}, // the folder
		{"other.pub", "plan", "a plan", "which is not trusted"},
		{"ours.pub", "plan", "a plam", "does not match"},
		{"ours.pub", "comment", "a plan", "does not match"},
		{"ours.pub", "unsigned", "a plan", "there is no"},
		{"ours.pub", "garbage", "a plan", "is not a signature"},
		{"ours.pub", "cut", "a plan", "not signed by a trusted key"},
	} {
		keys, err := signature.ReadKeys(at(c.keys))
		if err != nil {
			t.Fatal(err)
		}
		err = keys.Check(at(c.file), []byte(c.data))
		if c.say == "" && err != nil || c.say != "" && (!errors.Is(err, signature.ErrUntrusted) || !strings.Contains(err.Error(), c.say)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, name := range []string{"bad.txt", "none.txt", "missing"} {
		if _, err := signature.ReadKeys(at(name)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if s, err = signature.ReadSecret(at("ours.pub")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sign("", data, ""); err == nil {
		t.Error("signed with a public key")
	}
}
