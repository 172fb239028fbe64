// Package disk keeps one node's part of a log, a member's or a follower's, in one file: a store.Store on the key-value store
// bbolt, whose file is a tree of pages.
//
// # How a store begins
//
// Create makes the file and draws its id, which a genesis or an entry can name then; Begin begins a log in it. Open opens what is
// there, and makes nothing: a node whose file is gone, or empty, does not get its old id back. SetAside moves a file away
// that is damaged, so that Create can make another, with another id.
//
//	path            the store
//	path.damaged    the store was found to be damaged, and why: it is refused from then on
//	path.aside-1    a store that was moved aside
//	path.ended-1    one whose log has ended
//
// # What is promised
//
//   - A step is one transaction. When Write returns it was synced, twice: its pages, then the page that says that they count. A
//     process that is killed leaves the last whole transaction, and Open syncs it before anybody believes it.
//   - A commit or a sync that fails is store.ErrSync. After it every method fails: the system may show what the disk does not
//     have, and to ask again would get its word for it. This process must close it and not open it again; on Linux the next
//     Open reads from the disk, not from the system's memory.
//   - Every value has a checksum, which binds it to its place and to this store. One value says of all others how many there
//     are, and the sum of their checksums, and is bound to the newest transaction. So what is damaged, missing or older
//     than it should be is found: by Open, which reads and checks the whole file before it is used (100,000 records in less
//     than a second), or by the reading that meets it later. That is store.ErrDamaged, never a wrong value, and the
//     store is refused from then on, also by the next Open.
//   - A file is used by one process, by its lock. A reader of a file that a process has (OpenReadOnly, `conch log verify`) is
//     told so: the process itself has to be asked. While it reads, no process can open the file to write.
//
// # Who waits for whom
//
// Steps, transactions of Keep and of Compact come one after another. Each writes what its step brings, with up to 4 MB of lazy
// steps that have waited, or a megabyte of a snapshot; and it drops at most a thousand slots and a thousand records, whatever
// the authority gives up. Only a snapshot ahead of all records drops these at once.
//
// Readings wait for nobody's sync: they see the last transaction. A step waits for the readings that have begun only when the
// file has to grow beyond the memory that it is mapped to, a power of two; a reading copies what it returns, no more than it was
// asked for, and ends. Slots alone waits for a step that is being written.
//
// # Size
//
// A record that is in a slot is stored once: when it is added to the log, nothing but the place of the last one is written. Its slot
// stays until the log drops the record, also when the authority drops all of its slots. Where the authority replaces it, the
// record gets a place of its own.
//
// The file never shrinks. What Compact drops is used again: a log that is compacted needs about twice what is kept at most.
//
// # What nobody here can see
//
// A file that was restored from a backup or copied to another host, and a disk that acknowledges what it does not keep: see
// package store. The lock is of the file: a copy of it under another name has a lock of its own.
package disk
