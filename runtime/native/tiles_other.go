//go:build !linux || !amd64

package native

import "errors"

func permitTiles() error { return errors.New("there are no tile registers on this system") }
