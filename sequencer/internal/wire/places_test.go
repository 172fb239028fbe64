package wire

import (
	"slices"
	"testing"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	var list []byte
	for _, place := range []int{9, 0, 255, 8, -1, 256, 9} {
		list = AddPlace(list, place)
	}
	if got, want := Places(list), []int{0, 8, 9, 255}; !slices.Equal(got, want) || len(list) != MostEndorsers {
		t.Errorf("got %v in %d bytes, want %v in %d", got, len(list), want, MostEndorsers)
	}
}
