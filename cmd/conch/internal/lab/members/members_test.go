//go:build unix

package members

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a program that prints what conch-members would. The tests run one after the other: a file that one writes
// cannot be started while another one forks.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWhatTheProgramFindsIsPassedOn(t *testing.T) {
	var got []Line
	program := script(t, `test "$*" = "serf --nodes 5 --times 2 --settle 1s --rest 0s" || exit 4
echo '{"kind":"cold","took_ms":[12.5]}'
printf '{"kind":"news","took_ms":[1,2],'
echo '"missed":2}'`)
	err := Run(t.Context(), program, Serf, Load{Nodes: 5, Times: 2, Settle: 1e9}, func(pid int, l Line) {
		if pid <= 0 {
			t.Errorf("got process %d", pid)
		}
		got = append(got, l)
	})
	if err != nil || len(got) != 2 || got[0].Kind != Cold || !slices.Equal(got[1].Took, []float64{1, 2}) || got[1].Missed != 2 {
		t.Errorf("got %+v and %v, want two lines", got, err)
	}
}

// A run that fails is no figure.
func TestARunThatFailsIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"it ends badly":        {"echo the port is taken >&2; exit 1", "the port is taken"},
		"it prints no figures": {"echo ready", `"ready"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), script(t, c.text), Memberlist, Load{}, func(int, Line) { t.Error("it has passed something on") })
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func TestEtcdIsAskedForWhatIsMeasured(t *testing.T) {
	program := script(t, `test "$*" = "cluster --dir d --clients 1,16 --members 5 --value 160 --runs 2 --watchers 7 --watched 3 --kills 4 --slice 1s --rest 2s" || exit 4
echo '{"kind":"puts","clients":16,"rate":250.5,"processor":80,"took_ms":[3,4]}'`)
	var got []EtcdLine
	load := EtcdLoad{Dir: "d", Members: 5, Value: 160, Clients: []int{1, 16}, Runs: 2, Slice: 1e9, Rest: 2e9, Watchers: 7, Watched: 3, Kills: 4}
	err := RunEtcd(t.Context(), program, load, func(l EtcdLine) { got = append(got, l) })
	if err != nil || len(got) != 1 || got[0].Kind != EtcdPuts || got[0].Clients != 16 || got[0].Rate != 250.5 || got[0].Processor != 80 || len(got[0].Took) != 2 {
		t.Errorf("got %+v and %v, want one line", got, err)
	}
}
