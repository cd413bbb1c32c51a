package thread

// Control is the flow of control of a thread. Branches are [kernel.Builder.If].
type Control interface {
	// Loop runs body for i = from, from + step, … below to, i32 values that are the same in all threads of
	// a warp, and carries registers: body receives their values and returns the next ones.
	Loop(from, to *Value, step int64, init []*Value, body func(i *Value, carry []*Value) []*Value) []*Value
	// Anew runs body, which computes again what is known already, but for values that it is given: what is
	// known for a long time takes registers all that time.
	Anew(body func())
	// Near runs body, in which exponentials are the hardware's, if near holds; of equal zeros, maxima then take either.
	Near(near bool, body func())
	// Fail records an error of the caller.
	Fail(err error)
}

// Place is what [Lanes.Special] gives.
type Place int

// The number of the thread in its block, of its lane, of its warp, of the block, of the block in its cluster, and of the
// cluster.
const (
	Thread Place = iota
	Lane
	Warp
	Block
	Rank
	Cluster
)

// Lanes are the threads of a block, which warps of lanes make up.
type Lanes interface {
	// Special is an i32, the same throughout the kernel.
	Special(p Place) *Value
	// Exchange is v, of 32 bits, of the lane whose number differs in the bits of mask.
	Exchange(v *Value, mask int64) *Value
	// Sync waits until all threads of the block are here, or of those that [Lanes.Among] says.
	Sync()
	// Among runs body, which only so many threads of the block execute.
	Among(threads int, body func())
}

// Clusters are blocks that reach each other's shared memory.
type Clusters interface {
	// SyncCluster waits until all threads of the cluster are here; each sees then what the others wrote.
	SyncCluster()
	// In is s in the block of the cluster that has a rank, an i32, from where [Clusters.LoadCluster] reads.
	In(s Shared, rank *Value) Shared
	// LoadCluster reads from shared memory of a block of the cluster.
	LoadCluster(s Shared, a Access) []*Value
}
