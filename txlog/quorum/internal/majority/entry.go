package majority

import (
	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// Record returns the record of an entry, if it has one. The error is ErrMessage, or one of package txlog.
func (e Entry) Record() (record txlog.Record, has bool, err error) {
	if e.record.Raw() != nil {
		return e.record, true, nil
	}
	raw := e.Data
	if e.Change {
		var change pb.ConfChangeV2
		if len(e.Data) > mostChange || proto.Unmarshal(e.Data, &change) != nil {
			return txlog.Record{}, false, fault(ErrMessage, "entry %d changes the members in no known way", e.Index)
		}
		raw = change.GetContext()
	}
	if len(raw) == 0 {
		return txlog.Record{}, false, nil
	}
	record, err = txlog.Own(raw)
	return record, err == nil, err
}

// theirs returns an entry as the library has it.
func (e Entry) theirs() *pb.Entry {
	kind := pb.EntryNormal
	if e.Change {
		kind = pb.EntryConfChangeV2
	}
	return &pb.Entry{Index: new(e.Index), Term: new(e.Term), Type: kind.Enum(), Data: e.Data}
}

// ours returns an entry of the library.
func ours(e *pb.Entry) Entry {
	return Entry{Index: e.GetIndex(), Term: e.GetTerm(), Change: e.GetType() != pb.EntryNormal, Data: e.GetData()}
}
