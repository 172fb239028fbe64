package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"
)

// bodies has a body of each kind.
var bodies = []Body{
	Delegate{}, Accepted{}, Assemble{}, Assembled{}, Endorse{}, Endorsed{}, AskGrant{}, Granted{}, Dispatched{}, Noted{}, Returned{}, AskList{},
	List{}, AskHandover{}, Handover{}, AskAttempts{}, Attempts{}, Rejected{},
}

// filler fills every field of a message, whatever it is called: a field that the encoding forgets comes back empty. Then
// it takes away what the reason of an item excludes.
type filler struct {
	number func() uint64       // contents
	length func(least int) int // of lists and, with 1, of bytes
	width  int                 // of texts, at least
	why    func(done bool) Why // done says whether Done may be one
}

// random fills with what a seed says.
func random(seed uint64) *filler {
	chance := rand.New(rand.NewPCG(seed, 21))
	return &filler{
		number: chance.Uint64,
		length: func(least int) int { return least + chance.IntN(5) },
		why: func(done bool) Why {
			if done && chance.IntN(2) == 0 {
				return Done
			}
			return 1 + Why(chance.IntN(int(whys)-1))
		},
	}
}

// counting fills with numbers that only rise: a field more changes the fields after it in one message, and no other.
func counting() *filler {
	next, turn := uint64(0), 0
	return &filler{
		number: func() uint64 { next++; return next },
		length: func(int) int { return 2 },
		why: func(done bool) Why {
			if turn++; done && turn%2 == 1 {
				return Done
			}
			return NotBefore
		},
	}
}

// message returns a message with a body like the given one.
func (f *filler) message(like Body) Message {
	var m Message
	f.fill(reflect.ValueOf(&m).Elem(), "Message")
	body := reflect.New(reflect.TypeOf(like)).Elem()
	f.fill(body, body.Type().Name())
	m.Body = body.Interface().(Body)
	if m.Body.Kind() == KindReturned {
		m.Request = RequestID{}
	}
	return m
}

func (f *filler) beat() (b Beat) {
	f.fill(reflect.ValueOf(&b).Elem(), "Beat")
	return b
}

func (f *filler) fill(v reflect.Value, path string) {
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		*to = time.Duration(f.number()%uint64(MostWait)) + 1
	case *Why:
		*to = f.why(path != "Returned.Why" && path != "Rejected.Why")
	case *[]byte:
		*to = make([]byte, f.length(1))
		for i := range *to {
			(*to)[i] = byte(f.number())
		}
	default:
		f.walk(v, path)
	}
	switch to := v.Addr().Interface().(type) {
	case *Handed:
		to.Endorsers = to.Endorsers[:min(len(to.Endorsers), MostEndorsers)]
	case *Result:
		if to.Why != NotBefore {
			to.NotBefore = 0
		}
		if to.Why != Done {
			*to = Result{Sequence: to.Sequence, Why: to.Why, NotBefore: to.NotBefore}
		}
	case *GrantResult:
		if to.Why != Done {
			*to = GrantResult{Sequence: to.Sequence, Why: to.Why}
		}
	case *Verdict:
		if to.Why != Done {
			to.Signature = nil
		}
	}
}

func (f *filler) walk(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.length(0), 8))
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Bool:
		v.SetBool(f.number()%2 == 0)
	case reflect.String:
		v.SetString(fmt.Sprintf("%0*x", f.width, f.number()))
	case reflect.Int:
		v.SetInt(int64(f.number() % MostItems))
	case reflect.Uint8:
		v.SetUint(f.number() % 256)
	case reflect.Uint32:
		v.SetUint(f.number() % (1 << 32))
	case reflect.Uint64:
		v.SetUint(f.number())
	case reflect.Interface: // the body is filled by itself
	default:
		panic(fmt.Sprint("no way to fill ", v.Type()))
	}
}

// leaves adds the paths of a value's fields, with whether each has something.
func leaves(v reflect.Value, path string, found map[string]bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), path, found)
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			if v.Len() == 0 {
				leaves(reflect.Zero(v.Type().Elem()), path, found)
			}
			return
		}
		found[path] = found[path] || v.Len() > 0
	case reflect.Interface:
	default:
		found[path] = found[path] || !v.IsZero()
	}
}
