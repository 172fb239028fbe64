package disk

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/conchhq/conch/txlog/store"
)

// What an earlier process has written and not synced is on the disk before anybody believes it: a file that cannot be synced is not read.
// To read only, nothing has to be there for good.
func TestWhatIsOpenedIsSynced(t *testing.T) {
	t.Parallel()
	for _, write := range []bool{true, false} {
		f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // it takes what is written, and cannot be synced
		if err != nil {
			t.Fatal(err)
		}
		err = (&Store{write: write}).take(f)
		if is := errors.Is(err, store.ErrSync) && errors.Is(err, syscall.EINVAL); err == nil || is != write {
			t.Errorf("to write: %t: %v", write, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
