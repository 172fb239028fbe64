package chain

import (
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Speed is how soon an attempt is wanted in a block, and with it what it offers first, and when it offers more. None offers more than its
// draft allows.
type Speed uint8

const (
	// Normal offers the tip that is suggested, and room for a price that doubles.
	Normal Speed = iota
	// Slow offers half of that tip, has room for a price that rises by a quarter, and waits four times as long before it pays more.
	Slow
	// Fast offers twice that tip, and waits a third of that time.
	Fast
)

// Speeds returns all of them.
func Speeds() []Speed { return []Speed{Normal, Slow, Fast} }

var speeds = [...]string{"normal", "slow", "fast"}

func (s Speed) String() string { return speeds[s] }

// ParseSpeed reads a speed's word.
func ParseSpeed(word string) (Speed, error) {
	if i := slices.Index(speeds[:], word); i >= 0 {
		return Speed(i), nil
	}
	return Normal, fmt.Errorf("is %.100q, and has to be slow, normal or fast", word)
}

// Suggest returns what an attempt offers at first, given the price that a block asks for now, the tip that is suggested, and the lowest tip.
func (s Speed) Suggest(price, tip, least *big.Int) Fee {
	room := price
	switch s {
	case Slow:
		room, tip = new(big.Int).Rsh(price, 2), new(big.Int).Rsh(tip, 1)
	case Fast:
		tip = new(big.Int).Lsh(tip, 1)
	case Normal:
	}
	tip = larger(tip, least)
	most := new(big.Int).Add(price, room)
	return Fee{Max: most.Add(most, tip), Tip: tip}
}

// Patience returns how long an attempt waits until it pays more, of what is usual.
func (s Speed) Patience(usual time.Duration) time.Duration {
	switch s {
	case Slow:
		return 4 * usual
	case Fast:
		return usual / 3
	case Normal:
	}
	return usual
}
