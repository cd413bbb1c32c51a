package machine

import (
	"maps"
	"math"
	"slices"
)

// PS is a time in whole picoseconds. Times are whole so that sums do not depend on their order, and every
// processor gets the same.
type PS int64

// Picoseconds rounds a time in seconds to the nearest PS. Times below 0 or above 100 days, which no file can hold,
// stop at these bounds.
func Picoseconds(seconds float64) PS {
	const most = 100 * 24 * 3600 * 1e12
	return PS(math.Round(min(max(seconds*1e12, 0), most)))
}

// Seconds is the time in seconds.
func (t PS) Seconds() float64 { return float64(t) / 1e12 }

// Sourced is a number in SI units, and where it is from. The zero value means that the file does not give it.
type Sourced struct {
	Value  float64
	Source string
}

// Given reports whether the file has the number.
func (s Sourced) Given() bool { return s.Source != "" }

// Machine is a cluster without its size: what one device and one host can do, and the levels of links between
// devices. Nothing changes it once it is loaded.
type Machine struct {
	Name   string // an identifier: h100
	Title  string // for people: "NVIDIA H100 SXM, 80 GB"
	Device Device
	Host   Host
	Levels []Level // innermost first; none for a machine of one device
	// Power, Price and MTBF are for each device with its share of everything around it: W, USD/s, and the mean
	// time between failures in seconds. They are optional.
	Power, Price, MTBF Sourced
	Kernels            map[string]PS // measured times by fusion.Key; nil for a machine that was not calibrated
	Sources            []string      // of all numbers, in the order of the file
	Hash               string        // SHA-256 of the formatted file, in hex
}

// Device is one accelerator, or the processors of a server without one. Peak, Share and Vector are by dtype, in the
// words of the language; Start is by protocol.
type Device struct {
	Target     string             // what ptc compiles for: "cuda:sm_90a"; empty where there is no such target
	Processors int                // units that compute one tile at a time: streaming multiprocessors, cores
	Peak       map[string]Sourced // FLOP/s of products of this dtype
	Share      map[string]Sourced // of Peak, what the best product reaches; has the keys of Peak
	Vector     map[string]Sourced // FLOP/s of arithmetic that is not a product; f32 is always there

	Memory      Sourced // bytes
	Reserve     Sourced // of Memory, bytes that no program can have: driver, context, libraries
	Bandwidth   Sourced // of the memory, bytes/s
	MemoryShare Sourced // of Bandwidth, what the best kernel reaches
	Cache       Sourced // bytes of the last level; optional
	CacheRate   Sourced // bytes/s of the last level; optional

	Attention map[string]Sourced // of the rate of the best product, what attention reaches, by dtype; optional
	Serial    bool               // products, other arithmetic and memory accesses of a kernel follow one another

	Launch Sourced // seconds from the start of one kernel to that of the next, at least
	// Start is the seconds of a collective that moves nothing, by protocol: the ways to send, of which a library
	// takes the fastest for the size. Every level has the same protocols. Occupies is how many processors a
	// collective keeps busy while it runs; 0 where the links work alone.
	Start    map[string]Sourced
	Occupies Sourced
}

// Host is the computer around devices.
type Host struct {
	Devices   int     // that share one host
	Shared    bool    // its devices divide the described device: processors, memory, rates
	Launch    Sourced // seconds of host time that starting one kernel takes
	Link      Sourced // bytes/s between the host and one device, in each direction
	LinkShare Sourced // of Link, what a large copy reaches
	Memory    Sourced // bytes of one host, for all of its devices
	Disk      Sourced // bytes/s that one host writes to storage; optional
}

// Level is a kind of link that joins units into a larger unit: devices into a node, nodes into a fabric.
type Level struct {
	Name  string
	Ranks int     // units of the level below in one unit of this one; 0: open, as many as the command says
	Most  int     // the largest size of an open level; 0: no bound
	Link  Sourced // bytes/s that one device sends, and at the same time receives, over this level
	// Share is the part of Link that the best collective reaches, and Latency the seconds of one step from a device
	// to the next, by protocol.
	Share, Latency map[string]Sourced
	// Oversubscription divides the links of a unit when all its devices send out of it: 1 if nothing is shared.
	Oversubscription Sourced
	Reduces          bool // switches of this level add up what they receive
	Memory           bool // devices exchange through memory that they share; Link counts what a processor reads and writes
}

// Protocols are the names of the protocols of collectives, sorted.
func (m *Machine) Protocols() []string { return slices.Sorted(maps.Keys(m.Device.Start)) }
