//go:build linux

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestMain runs a member, since the program that is started as one is the test's own here.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "member" {
		main()
		return
	}
	os.Exit(m.Run())
}

func state(member, leader, applied uint64) *clientv3.StatusResponse {
	return (*clientv3.StatusResponse)(&pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: member}, Leader: leader, RaftAppliedIndex: applied})
}

// A leader that one member does not know yet, or a member that lacks entries, would be measured as if all were well.
func TestWhoLeads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		states []*clientv3.StatusResponse
		want   int
	}{
		"all name the second":      {[]*clientv3.StatusResponse{state(1, 2, 9), state(2, 2, 9), state(3, 2, 9)}, 1},
		"one is away":              {[]*clientv3.StatusResponse{state(1, 2, 9), state(2, 2, 9)}, -1},
		"nobody is there":          {nil, -1},
		"one names nobody":         {[]*clientv3.StatusResponse{state(1, 0, 9), state(2, 2, 9), state(3, 2, 9)}, -1},
		"two names":                {[]*clientv3.StatusResponse{state(1, 2, 9), state(2, 2, 9), state(3, 3, 9)}, -1},
		"one is behind":            {[]*clientv3.StatusResponse{state(1, 2, 9), state(2, 2, 9), state(3, 2, 8)}, -1},
		"they name one who is not": {[]*clientv3.StatusResponse{state(1, 4, 9), state(2, 4, 9), state(3, 4, 9)}, -1},
	} {
		if got := agreed(c.states, 3); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// Only what members have sent each other counts; a member that does not say it is no member that sends nothing.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	got, err := sentBytes(strings.NewReader("# HELP etcd_network_peer_sent_bytes_total of peers\n" +
		"etcd_network_peer_sent_bytes_total{To=\"a\"} 1.5e+03\netcd_network_peer_sent_bytes_total{To=\"b\"} 7\n" +
		"etcd_network_peer_received_bytes_total{From=\"a\"} 99\netcd_network_client_grpc_sent_bytes_total 1000\n"))
	if err != nil || got != 1507 {
		t.Errorf("got %v and %v, want 1507", got, err)
	}
	for _, text := range []string{"", "etcd_network_peer_received_bytes_total{From=\"a\"} 99\n", "etcd_network_peer_sent_bytes_total{To=\"a\"} many\n"} {
		if got, err := sentBytes(strings.NewReader(text)); err == nil {
			t.Errorf("got %v of %q, want an error", got, text)
		}
	}
}

// A small cluster of processes takes puts, tells watchers, rests, and loses its leader.
func TestACluster(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	cfg := config{
		program: program, dir: t.TempDir(), members: 3, value: 160, clients: []int{1, 4}, runs: 1, slice: 300 * time.Millisecond, rest: 2 * time.Second,
		watchers: 6, watched: 2, kills: 1,
	}
	cfg.say = func(l line) {
		kinds = append(kinds, l.Kind)
		switch l.Kind {
		case puts:
			if len(l.Took) == 0 || l.Rate <= 0 || slices.Min(l.Took) <= 0 {
				t.Errorf("%d clients had %d answers, %v puts/s", l.Clients, len(l.Took), l.Rate)
			}
		case watches:
			if len(l.Took) != cfg.watchers {
				t.Errorf("%d watchers have seen a put, want %d", len(l.Took), cfg.watchers)
			}
		case rested:
			if l.Bytes <= 0 {
				t.Error("members at rest send nothing: they have heartbeats")
			}
		case killed:
			if len(l.Took) != 1 || l.Took[0] <= 0 {
				t.Errorf("a kill took %v", l.Took)
			}
		}
	}
	if err := measure(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if want := []string{puts, puts, rested, watches, watches, killed}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}
