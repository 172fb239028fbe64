package mtls_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/transport/mtls"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "node.pem")
	made, err := mtls.CreateIdentity(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, error %v; want 0600", info.Mode(), err)
	}
	read, err := mtls.LoadIdentity(file, "")
	if err != nil || read.Fingerprint() != made.Fingerprint() {
		t.Errorf("read back: %v, error %v; want %v", read, err, made)
	}
	before, _ := os.ReadFile(file)
	if _, err := mtls.CreateIdentity(file); !errors.Is(err, mtls.ErrExists) {
		t.Errorf("a second key in the same file: got error %v, want ErrExists", err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the key was overwritten")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	other, err := mtls.CreateIdentity(file + "2")
	if err != nil || other.Fingerprint() == made.Fingerprint() {
		t.Errorf("two keys have one fingerprint, error %v", err)
	}
}

// No verb, log or document shows a key.
func TestAnIdentityPrintsAsItsFingerprint(t *testing.T) {
	t.Parallel()
	i, err := mtls.LoadIdentity(identity(t, "a"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := i.Fingerprint().String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if got := fmt.Sprintf(verb, i); got != want {
			t.Errorf("%s prints %q, want %q", verb, got, want)
		}
	}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "i", i)
	if !strings.Contains(out.String(), want) || len(out.String()) > 200 {
		t.Errorf("the log has %q", out.String())
	}
	if text, err := json.Marshal(i); err != nil || string(text) != `"`+want+`"` {
		t.Errorf("JSON has %s, error %v", text, err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	good := identity(t, "a")
	text, _ := os.ReadFile(good)
	block, _ := pem.Decode(text)
	damaged := pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: append([]byte{0x30, 0x99}, block.Bytes...)})
	write := func(content []byte, mode os.FileMode) string {
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, content, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for what, c := range map[string]struct{ key, certificate, says string }{
		"missing":           {filepath.Join(t.TempDir(), "none.pem"), "", "conch identity new"},
		"open to others":    {write(text, 0o644), "", "chmod 600"},
		"no PEM":            {write([]byte("hunter2"), 0o600), "", "-----BEGIN PRIVATE KEY-----"},
		"damaged":           {write(damaged, 0o600), "", "damaged"},
		"a certificate":     {write(authority(t).pem, 0o600), "", "-----BEGIN PRIVATE KEY-----"},
		"no certificate":    {good, good, "no certificate"},
		"certificate away":  {good, good + "x", "no such file"},
		"another's":         {good, write(authority(t).pem, 0o600), "is not of the key"},
		"a damaged chain":   {good, write([]byte("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"), 0o600), "is damaged"},
		"an enormous chain": {good, write(make([]byte, 1<<20+1), 0o600), "larger than"},
	} {
		_, err := mtls.LoadIdentity(c.key, c.certificate)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got error %v, want one that says %q", what, err, c.says)
		}
		secret := strings.Split(string(text), "\n")[1]
		if err != nil && (strings.Contains(err.Error(), secret[20:]) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: the error has the key", what)
		}
	}
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	good := "sha256:" + strings.Repeat("0a", 32)
	if f, err := mtls.ParseFingerprint(good); err != nil || f.String() != good {
		t.Errorf("read %v, error %v; want %s", f, err, good)
	}
	for _, text := range []string{"", good[7:], strings.ToUpper(good), "sha256:" + strings.Repeat("0A", 32), good + "00", good[:70], good + " ", "SHA256:" + good[7:], "sha256:" + strings.Repeat("0g", 32)} {
		if _, err := mtls.ParseFingerprint(text); err == nil || !strings.Contains(err.Error(), "conch identity show") {
			t.Errorf("%q: got error %v, want one that says how to get it", text, err)
		}
	}
}

func TestValidateReturnsEveryFault(t *testing.T) {
	t.Parallel()
	key := "sha256:" + strings.Repeat("0a", 32)
	err := mtls.Config{
		Self: "a b", Listen: "here", Queue: -1,
		Peers: []mtls.Peer{
			{Name: "north", URL: "http://n:1", Key: key},
			{Name: "north", URL: "https://n:1", Key: key},
			{Name: "east", URL: "https://user:hunter2@e:1"},
			{Name: "south", URL: "https://s:1", Key: key, CA: "ca.pem"},
			{Name: "-", URL: "https://w", Key: "sha256:zz"},
			{Name: "a b", URL: "https://w:1/path", Key: key},
		},
	}.Validate()
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, says := range []string{
		`Self "a b" is no name`, `Listen "here"`, "Key is empty", "must not be negative", `peer "north": the URL`, `peer "north" is there twice`,
		`peer "north" has the key of peer "north"`, `peer "east": the URL`, `peer "east" has neither`, `peer "south" has both`, `peer 5: "-" is no name`,
		"is no fingerprint", `peer 6: "a b" is no name`, "has the name of the node itself",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q is missing in:\n%v", says, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("the error has a password")
	}
}

// A signer signs with the identity's key, and shows it to nobody.
func TestTheSignerHidesTheKey(t *testing.T) {
	t.Parallel()
	id, err := mtls.CreateIdentity(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := id.Signer()
	signature, err := s.Sign(rand.Reader, []byte("words"), crypto.Hash(0))
	if err != nil || !ed25519.Verify(s.Public().(ed25519.PublicKey), []byte("words"), signature) {
		t.Errorf("the signature is not the key's (%v)", err)
	}
	if _, is := s.(ed25519.PrivateKey); is {
		t.Error("the signer is the key")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s"} {
		if text := fmt.Sprintf(verb, s); !strings.Contains(text, id.Fingerprint().String()) {
			t.Errorf("with %s it prints %q", verb, text)
		}
	}
	if _, err := (mtls.Identity{}).Signer().Sign(rand.Reader, nil, crypto.Hash(0)); err == nil {
		t.Error("no key signs")
	}
}
