// Package mpi is the transport of devices in processes of their own, connected by
// MPI: one device in each process, its rank that of MPI_COMM_WORLD.
//
// In come the operations that package comm describes. Each becomes a few phases
// of messages between its members, with arithmetic in between that is the same as
// that of package local, so both give the same bits. An all-reduce of n bytes among
// N members:
//
//	phase 0   every member sends part j of its buffer to member j       (N−1)/N·n
//	          member j adds the N parts that it has in order
//	phase 1   member j sends its sum to all                             (N−1)/N·n
//
// Messages are non-blocking sends and receives on MPI_COMM_WORLD, with tags made
// of the group's set of axes, the number of the operation and the phase. A call
// polls them all, not only its own, so that the order in which operations are
// waited for cannot matter; a goroutine polls while nobody waits.
//
// A wait that takes too long ends the job: the rank that noticed prints which
// ranks did not reach which operation and calls MPI_Abort, which ends all
// processes with the exit code of the error. The same happens for a mismatch and
// for Abort. A process that dies is noticed by its launcher, which ends the others
// by SIGTERM; what keeps them waiting after that is printed.
//
// Open MPI (libmpi.so.40) is loaded when a device is opened. Engines that exist
// start the processes, and Detect sees that they did:
//
//	mpirun -n 8 ptc run plan.bin
//	srun -n 8 --mpi=pmix ptc run plan.bin
//	a Kubernetes MPIJob whose launcher runs the mpirun line
//
// It imports runtime/comm and internal/foreign, which loads the library.
package mpi
