// Package live shows a run while it lasts: a page for a browser, and its events.
//
// In: the events of a run, through Tell, and what is known of its plan. Out: over HTTP, a
// page, and the events as a stream of server-sent events (HTML Living Standard, section
// 9.2), each the object that `--log json` prints on a line. Who comes late gets what was
// before; who is too slow is cut off, comes again by itself, and gets it again.
//
// Invariant: Tell never waits for a client. The page is as runtime/report's: it runs no
// script but its own and asks nothing of any other host.
//
// Imports runtime/metrics, runtime/report.
package live
