// Package overlap lets communication run concurrently with computation, level Fused:
// collectives are issued as soon as what they send is there, small ones
// together, and waited for where their result is read.
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
// Copies between the memories of a device are started early and waited for late
// as well ([transfers]), on one device, too.
//
// In: entry functions of kernel calls and collectives, with runs (ir.Stack) and tasks
// (ir.Task). Out: the same values, in an order that respects what reads what; `start` on
// collectives that have something to overlap with, and one `done` for each; in runs, by how
// many turns operations are ahead.
// Invariant: a started collective has exactly one `done` after it, of the same task and
// run, which alone reads its results ([Check]). All devices of a group run one program, so
// that whatever order this gives, they issue their collectives in the same one.
//
// The operations outside of runs are a text, in which each run stands as one operation;
// those of a run are a text for one instance in the place of all. Of a pipeline, each task
// has these texts of its own, for one microbatch in the place of all: nothing moves to
// another task, and no collective is under way where a turn ends. So the cost has no part in which the
// number of instances or of microbatches counts. `enter_turn` and `leave_turn`, which are
// nothing to do, are no part of a text: they follow the kernel between them. On each
// text, four steps:
//
// [options.hoist] moves a collective up to its last operand: to the head of a task that
// runs once if tasks before have made them all. A gather whose operand is
// there for longer, as parameters are (ZeRO 3) and shards of the forward phase, is
// `prefetch` turns ahead, at the head of its run; outside of runs it goes up to where the
// layer `prefetch` before it starts, or to the run before it. What an exchange has
// brought is sent on where the first kernel reads it.
//
//	turn t    gather(t+1)  done(gather t)  kernels(t)  reduce(t)  done(reduce t-1)
//
// [options.merge] puts neighbours of one kind over the same devices into buckets of up
// to `bucket` bytes (Li et al., "PyTorch Distributed", 2020, section 3.2.3), but never
// past a reader; both for collectives of every kind, as fewer messages are worth it by
// themselves. Instances of a run do not share a bucket.
//
// [options.begin] splits those that the layout lets run concurrently with other work into start and
// done, and where little stands between, moves there what the collective does not
// need, such as the gradient of a weight behind that of an activation (Wang et
// al., "Overlap Communication with Dependent Computation", 2023). At most
// [MaxOpen] are under way over one set of mesh axes: where another one starts, the
// oldest is waited for. What a run makes for others is done turns behind its start. What
// leaves less than it reads, as the reduce_scatter of a gradient, is waited for a layer
// later, so that the whole gradient is freed.
//
// [receiveAhead] then has tasks of microbatches receive their messages from the turn before
// on. Only their `done` is in their turn.
//
// Imports internal/diag, ir, ir/fusion, ir/layout, ir/op, ir/verify, passes/pass.
package overlap
