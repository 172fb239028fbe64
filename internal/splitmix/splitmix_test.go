package splitmix

import "testing"

// The numbers are those of the authors' own program for the seed 1234567.
func TestKnownNumbers(t *testing.T) {
	t.Parallel()
	s := Source(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if mixed := Mix(1234567, uint64(i)); mixed != want {
			t.Errorf("number %d is %d by Mix, want %d", i, mixed, want)
		}
		if got := s.Next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	seen := map[int]bool{}
	for range 100 {
		seen[s.Below(3)] = true
	}
	if len(seen) != 3 || !seen[0] || !seen[1] || !seen[2] {
		t.Errorf("of three numbers it draws %v", seen)
	}
}
