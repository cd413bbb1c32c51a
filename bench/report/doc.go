// Package report tries ptc's pages in a browser: `make report-check`.
//
// In: the page of `ptc report` for a plan with a pipeline, and that of `ptc run --serve`.
// Out: whether pictures have what the plan has (rectangles are its values, the highest
// reaches the end of the arena, the timeline's gaps are the bubble, or the idle time of a forecast, rings are where kernels
// were measured, bars are the waits of ranks), clicks and keys do
// what they should, nothing is wider than the window, the console has no error, and no
// request leaves the page.
//
// The tests are built with the tag browser, since they need Chromium; the package itself
// is empty. The tests import compiler, foresight and runtime.
package report
