// Package live shows a run while it lasts: a page for a browser, and its events.
//
// In: the events of a run, through Tell, and the facts of its plan. Out: over HTTP, a
// page, and the events as a stream of server-sent events (HTML Living Standard, section
// 9.2), each the object that `--log json` prints on a line. A late client gets the earlier
// events; a slow one is disconnected, reconnects by itself, and gets them again.
//
// Invariant: Tell never waits for a client. The page is like runtime/report's: it runs only
// its own script and loads nothing from any other host.
//
// Imports runtime/metrics, runtime/report.
package live
