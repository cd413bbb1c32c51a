package mpi

import (
	"encoding/binary"
	"hash/fnv"
	"strings"

	"ptc/runtime/comm"
)

// header is what members tell one another before an operation: its number and the
// hash of its signature, and as much of the signature as fits, for the error.
const headerBytes = 160

func newHeader(signature string) []byte {
	h := make([]byte, headerBytes)
	f := fnv.New64a()
	f.Write([]byte(signature))
	binary.LittleEndian.PutUint64(h[8:], f.Sum64())
	copy(h[16:], strings.ToValidUTF8(signature[:min(len(signature), headerBytes-16)], ""))
	return h
}

// comparePhase exchanges headers.
func (c *call) comparePhase() phase {
	var p phase
	c.header = newHeader(c.signature)
	theirs := make([][]byte, len(c.members))
	for i := range theirs {
		theirs[i] = make([]byte, headerBytes)
	}
	c.others(func(to, from int) {
		p.add(true, c.members[to], region{buf: c.header})
		p.add(false, c.members[from], region{buf: theirs[from]})
	})
	p.before = func() error {
		binary.LittleEndian.PutUint64(c.header, c.seq)
		return nil
	}
	p.after = func() error {
		for i, h := range theirs {
			if i == c.me || string(h[:16]) == string(c.header[:16]) {
				continue
			}
			text := strings.TrimRight(string(h[16:]), "\x00")
			return comm.Differ(c.d.rank, c.describe(), c.signature, c.members[i], text, c.seq)
		}
		return nil
	}
	return p
}
