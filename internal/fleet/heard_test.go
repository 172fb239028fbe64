package fleet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/conchhq/conch/internal/fleet"
)

// A condition is looked at after each change, and not for ever.
func TestHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h fleet.Heard
		n := 0
		done := make(chan error)
		go func() { done <- h.Await(t.Context(), func() bool { return n == 2 }) }()
		for range 2 {
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("after %d changes the wait is over: %v", n, err)
			default:
			}
			h.Tell(func() { n++ })
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if err := h.Await(ctx, func() bool { return false }); !errors.Is(err, enough) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

// Each whole line is passed on once, whenever it comes; one that could not be taken comes again.
func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lines")
	full := errors.New("it cannot be taken")
	var tail fleet.Tail
	var got []string
	refuse := ""
	follow := func() error {
		return tail.Follow(path, func(line []byte) error {
			if string(line) == refuse {
				return full
			}
			got = append(got, string(line))
			return nil
		})
	}
	for _, c := range []struct {
		added, refuse string
		want          []string
		err           error
	}{
		{"", "", nil, nil},
		{"a\nb", "", []string{"a"}, nil},
		{"c\n\nd\n", "d", []string{"a", "bc", ""}, full},
		{"e", "", []string{"a", "bc", "", "d"}, nil},
	} {
		if c.added != "" {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.WriteString(c.added)
			if err = errors.Join(err, file.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if refuse = c.refuse; !errors.Is(follow(), c.err) || !slices.Equal(got, c.want) {
			t.Errorf("after %q: got %q, want %q and %v", c.added, got, c.want, c.err)
		}
	}
}
