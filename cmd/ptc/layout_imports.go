package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"ptc/foresight/certificate"
	"ptc/foresight/certify"
	"ptc/internal/diag"
)

// imports are the files that a source imports, as its certificate has them.
func (s *subject) imports() (out []certificate.Import) {
	for _, x := range s.prober.Imports() {
		sum := sha256.Sum256([]byte(x.Text))
		out = append(out, certificate.Import{Path: x.Path, SHA256: hex.EncodeToString(sum[:])})
	}
	return out
}

// refused is the error of a certificate in a file that is not about the source, or does not hold. If an import differs, the
// error shows the line that imports it.
func (s *subject) refused(u *unit, file string, err error) error {
	var no *certify.Fault
	if errors.As(err, &no) && no.Import != "" {
		for _, x := range s.prober.Imports() {
			if x.Path == no.Import {
				return compileError(&diag.Error{Pos: x.Pos, Len: x.Len, Msg: fmt.Sprintf("%s: %s", file, no.Text),
					Want: "the file that the certificate is of; or search again"}, u.sources(s.report))
			}
		}
	}
	return inputf("%s: %w", file, err)
}
