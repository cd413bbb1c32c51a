// Package overlap makes communication run concurrently with computation, level Fused:
// collectives are issued as soon as their operands exist, small ones
// together, and awaited where their result is read.
//
//	before                          after
//	%3 = call %1 fn=@dw2            %3 = call %1 fn=@dw2
//	%5 = call %2 fn=@dx2            %5 = call %2 fn=@dx2
//	%7 = call %5 fn=@dw1            %7 = call %5 fn=@dw1
//	%8 = all_reduce %3              %8, %9 = all_reduce %3, %7 start=true
//	%9 = all_reduce %7              %6 = call %5 fn=@dx1
//	%6 = call %5 fn=@dx1            %10, %11 = done %8, %9
//	%12 = call %8 fn=@norm          %12 = call %10 fn=@norm
//
// Copies between the memories of a device also start early and end late ([transfers]),
// even on one device.
//
// In: entry functions of kernel calls and collectives, with runs (ir.Stack) and tasks
// (ir.Task). Out: the same values, in an order that respects dependencies; `start` on
// collectives that have something to overlap with, and one `done` for each; in runs, how
// many iterations operations are ahead.
// Invariant: a started collective has exactly one `done` after it, of the same task and
// run, which alone reads its results ([Check]). All devices of a group run one program, so
// they issue their collectives in the same order, whatever it is.
//
// The operations outside of runs are a text, in which each run stands as one operation;
// those of a run are a text for one instance that stands for all. In a pipeline, each task
// has its own texts, for one microbatch that stands for all: nothing moves to
// another task, and no collective is in flight where a slot ends. So the cost does not
// depend on the number of instances or microbatches. `enter_tick` and `leave_tick` do
// nothing and are not part of a text: they follow the kernel between them. Each
// text goes through four steps:
//
// [options.hoist] moves a collective up to its last operand: to the head of a task that
// runs once if earlier tasks have made them all. A gather of a long-lived operand, such
// as a parameter (ZeRO 3) or a shard of the forward phase, is
// `prefetch` iterations ahead, at the head of its run; outside of runs it moves up to where
// the layer `prefetch` before it starts, or to the run before it. A received value
// is sent on where the first kernel reads it.
//
//	iteration t    gather(t+1)  done(gather t)  kernels(t)  reduce(t)  done(reduce t-1)
//
// [options.merge] puts neighbours of one kind over the same devices into buckets of up
// to `bucket` bytes (Li et al., "PyTorch Distributed", 2020, section 3.2.3), but never
// past a reader; both for collectives of every kind, because fewer messages pay off by
// themselves. Instances of a run do not share a bucket.
//
// [options.begin] splits those that the layout lets run concurrently with other work into
// start and done. If little stands between them, it moves kernels there that the collective
// does not need, such as the gradient of a weight after that of an activation (Wang et
// al., "Overlap Communication with Dependent Computation", 2023). At most
// [MaxOpen] are in flight over one set of mesh axes: where another one starts, the
// oldest is awaited. Values that a run makes for others are awaited iterations after their
// start. A result that is smaller than its operand, such as the reduce_scatter of a
// gradient, is awaited a layer later, so that the full gradient is freed.
//
// [receiveAhead] then makes tasks of microbatches receive their messages from the previous
// slot on. Only their `done` is in their own slot.
//
// Imports internal/diag, ir, ir/fusion, ir/layout, ir/op, ir/verify, passes/pass.
package overlap
