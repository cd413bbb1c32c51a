//go:build !linux || !amd64

package ceilings

import "errors"

func permitTiles() error { return errors.New("no tile registers") }
