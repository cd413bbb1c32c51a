// Command foresightown compares predicted steps with those that run on this host.
//
//	go run ./bench/foresightown        from the root of the repository
//
// In: the examples, compiled for this host's processors. Out: bench/foresightown.json, and tables in docs/foresight.md.
//
//	main.go       the order of things
//	subjects.go   plans: examples, and ten layouts of one model
//	measure.go    steps of a plan, in turns with those of others
//	write.go      errors, the order of layouts, the report
//
// Each example is predicted with a machine that was calibrated on other examples, and layouts with one that was calibrated on
// ptc's own program alone: no plan is predicted with a kernel of its own. What runs is what `ptc run` runs, with its data.
package main
