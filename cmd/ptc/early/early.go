// Package early takes the signals that ask the process to end, from some milliseconds before main begins.
//
// Packages are initialized in the order of their paths, as soon as what they import is. This one imports only
// what catches signals, so that it comes before the hundreds that others need. Until then a signal ends the
// process by itself, and a scheduler learns no exit code.
//
// Out comes a channel; main reads it. The package imports nothing of ours, and command ptc alone imports it.
package early

import (
	"os"
	"os/signal"
)

// Heard has the signals that came. What comes while nobody reads waits there.
var Heard = make(chan os.Signal, 8)

func init() { signal.Notify(Heard, Signals()...) }

// Forget lets signals do again what they do to any process.
func Forget() { signal.Reset(Signals()...) }
