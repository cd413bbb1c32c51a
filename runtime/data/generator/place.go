package generator

import (
	"fmt"
	"strconv"
	"strings"
)

// placeKind is how a program is reached.
type placeKind int

const (
	command placeKind = iota
	unixSocket
	tcpSocket
	descriptor
)

// place is where examples come from.
type place struct {
	kind placeKind
	text string // of what is behind the kind
	fd   int
}

// parsePlace reads a place: "unix:PATH", "tcp:HOST:PORT", "fd:N", "-", else a command line.
func parsePlace(from string) (place, error) {
	head, rest, has := strings.Cut(from, ":")
	switch {
	case strings.TrimSpace(from) == "":
		return place{}, fmt.Errorf("no source is given: a command line, unix:PATH, tcp:HOST:PORT, fd:N or -")
	case strings.ContainsRune(from, 0):
		return place{}, fmt.Errorf("the place %q has a NUL", from)
	case from == "-":
		return place{kind: descriptor, text: "the standard input"}, nil
	case has && head == "fd":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 || n > 1<<20 {
			return place{}, fmt.Errorf("%s is not a descriptor such as fd:3", from)
		}
		return place{kind: descriptor, text: from, fd: n}, nil
	case has && head == "unix":
		if rest == "" {
			return place{}, fmt.Errorf("%s names no socket: unix:PATH", from)
		}
		return place{kind: unixSocket, text: rest}, nil
	case has && head == "tcp":
		if at := strings.LastIndexByte(rest, ':'); at < 1 || at == len(rest)-1 {
			return place{}, fmt.Errorf("%s is not an address such as tcp:host:7070", from)
		}
		return place{kind: tcpSocket, text: rest}, nil
	}
	return place{kind: command, text: from}, nil
}

// IsCommand reports whether a place is a command line, which is run.
func IsCommand(from string) bool {
	p, err := parsePlace(from)
	return err == nil && p.kind == command
}

// AskedFor reports whether what is at a place is told what is wanted, and can be asked again.
func AskedFor(from string) bool {
	p, err := parsePlace(from)
	return err == nil && p.kind != descriptor
}
