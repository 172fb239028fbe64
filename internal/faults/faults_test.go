package faults_test

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/internal/faults"
)

// All faults are told, in their order, and what they wrap is found.
func TestList(t *testing.T) {
	t.Parallel()
	f := faults.List{Of: "wing: "}
	f.Add(false, "nothing is wrong with %d", 1)
	f.Join(nil)
	if err := f.All(); err != nil {
		t.Errorf("nothing is wrong, and it is %v", err)
	}
	full := errors.New("the disk is full")
	f.Add(true, "number %d: %w", 2, full)
	f.Join(errors.New("and this"))
	if err := f.All(); !errors.Is(err, full) || err.Error() != "wing: number 2: the disk is full\nand this" {
		t.Errorf("got %v", err)
	}
}
