package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/keyservice"
)

const (
	secretKey      = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
	secretPassword = "correct horse battery staple"
	secretPath     = "v3-5ecre7"
)

// files writes a keystore of light cost, since the standard cost takes a second, and its password.
func files(t *testing.T) (file, password string) {
	t.Helper()
	secret, err := crypto.HexToECDSA(secretKey)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := keystore.EncryptKey(&keystore.Key{
		Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret,
	}, secretPassword, keystore.LightScryptN, keystore.LightScryptP)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "key.json", string(sealed)), write(t, "password", secretPassword+"\n")
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tidy(t *testing.T, what, said string) {
	t.Helper()
	secret, _ := crypto.HexToECDSA(secretKey)
	for _, bad := range []string{secretKey, secretPassword, secretPath, "hunter2", new(big.Int).SetBytes(crypto.FromECDSA(secret)).String(), fmt.Sprintf("%d", crypto.FromECDSA(secret)), secretKey[:16]} {
		if strings.Contains(strings.ToLower(said), strings.ToLower(bad)) {
			t.Errorf("%s shows a secret: %s", what, said)
		}
	}
}

// formats prints a value in every way in which it may get into a log.
func formats(t *testing.T, what string, v any) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		tidy(t, what+" by "+verb, fmt.Sprintf(verb, v))
	}
	text, err := json.Marshal(v)
	tidy(t, what+" as JSON", fmt.Sprint(string(text), err))
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", v)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", v)
	tidy(t, what+" in a log", log.String())
}

func TestNothingTellsASecret(t *testing.T) {
	t.Parallel()
	file, password := files(t)
	k, err := evm.OpenKeystore(file, password)
	if err != nil {
		t.Fatal(err)
	}
	url := unusedAddress(t, "http://user:hunter2@127.0.0.1/"+secretPath+"?token="+secretPath)
	x := evm.NewExternal(k.Account(), url, "account_signTransaction", time.Second)
	defer x.Close()
	cfg := evm.Config{URL: url, ChainID: 1, Signers: []evm.Signer{k, x}[:1], Header: map[string][]string{"Authorization": {"Bearer " + secretPath}}}
	c := open(t, cfg)
	for what, v := range map[string]any{
		"the keystore": k, "a copy of the keystore": *k, "the external signer": x, "a copy of it": *x,
		"the config": cfg, "the config's address": &cfg, "the chain": c,
		"something that holds them": struct {
			A any
			B evm.Config
			C []evm.Signer
		}{k, cfg, []evm.Signer{k, x}},
		// fmt does not call the methods of unexported fields.
		"something that hides them": struct {
			a evm.Keystore
			b evm.External
			c *evm.Chain
		}{*k, *x, c},
	} {
		formats(t, what, v)
	}
	_, err = c.Describe(t.Context())
	wraps(t, err, chain.ErrUnreachable)
	formats(t, "an endpoint's silence", err)
	formats(t, "an outcome", c.Submit(t.Context(), []chain.Signed{{}}))
	_, err = x.Sign(t.Context(), unsigned(1))
	wraps(t, err, chain.ErrKey)
	formats(t, "an external signer's silence", err)
	socket := open(t, evm.Config{URL: strings.Replace(url, "http", "ws", 1), ChainID: 1})
	_, err = socket.Describe(t.Context())
	wraps(t, err, chain.ErrUnreachable)
	formats(t, "a WebSocket's silence", err)
}

func TestKeystoreFaults(t *testing.T) {
	t.Parallel()
	file, password := files(t)
	for _, c := range []struct{ what, file, password, says string }{
		{"no file", file + ".gone", password, "name a file of web3 secret storage"},
		{"no password file", file, password + ".gone", "name a file that holds it on one line"},
		{"a wrong password", file, write(t, "p", "hunter2"), "does not open"},
		{"an empty password", file, write(t, "p", "\n"), "is empty"},
		{"a bare key", write(t, "k", secretKey), password, "it has to be web3 secret storage"},
		{"a key in JSON", write(t, "k", `{"privatekey":"`+secretKey+`"}`), password, "it has to be web3 secret storage"},
		{"a folder", t.TempDir(), password, "name a file of web3 secret storage"},
	} {
		_, err := evm.OpenKeystore(c.file, c.password)
		wraps(t, err, chain.ErrKey)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", c.what, err, c.says)
		}
		formats(t, c.what, err)
	}
}

func TestWriteKeystore(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new.json")
	for _, bad := range []string{"", "0x12", secretKey + "zz", strings.Repeat("f", 64)} {
		_, err := evm.WriteKeystore(file, bad, secretPassword, evm.StandardCost)
		wraps(t, err, chain.ErrKey)
		formats(t, "a bad key", err)
	}
	_, err := evm.WriteKeystore(file, secretKey, "", evm.StandardCost)
	wraps(t, err, chain.ErrKey)
	a, err := evm.WriteKeystore(file, "0x"+secretKey+"\n", secretPassword, evm.NoCost)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v of the keystore, %v, want 0600", info.Mode(), err)
	}
	k, err := evm.OpenKeystore(file, write(t, "p", secretPassword+"\r\n"))
	if err != nil || k.Account() != a {
		t.Errorf("got %v, %v, want the keystore of %v", k, err, a)
	}
	_, err = evm.WriteKeystore(file, secretKey, secretPassword, evm.StandardCost)
	wraps(t, err, chain.ErrKey)
}

func unsigned(id uint64) *types.Transaction {
	to := common.HexToAddress("0xf0e1")
	return types.NewTx(&types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(id), Nonce: 7, To: &to, Value: big.NewInt(5), Gas: 21_000,
		GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(2), Data: []byte{1},
	})
}

// signAs answers as clef or web3signer does, after changing the transaction.
func signAs(t *testing.T, change func(*types.DynamicFeeTx), clef bool) server {
	return func(method string, params []json.RawMessage) any {
		var args struct {
			To                                        *common.Address
			Value, MaxFeePerGas, MaxPriorityFeePerGas *hexutil.Big
			Nonce, Gas                                hexutil.Uint64
			Input                                     hexutil.Bytes
			ChainID                                   *hexutil.Big
		}
		if err := json.Unmarshal(params[0], &args); err != nil {
			t.Error(err)
		}
		tx := &types.DynamicFeeTx{
			ChainID: args.ChainID.ToInt(), Nonce: uint64(args.Nonce), To: args.To, Value: args.Value.ToInt(), Gas: uint64(args.Gas),
			GasTipCap: args.MaxPriorityFeePerGas.ToInt(), GasFeeCap: args.MaxFeePerGas.ToInt(), Data: args.Input,
		}
		change(tx)
		secret, _ := crypto.HexToECDSA(secretKey)
		signed, err := types.SignNewTx(secret, types.LatestSignerForChainID(tx.ChainID), tx)
		if err != nil {
			t.Error(err)
		}
		raw, _ := signed.MarshalBinary()
		if clef {
			return map[string]any{"raw": hexutil.Bytes(raw), "tx": signed}
		}
		return hexutil.Bytes(raw)
	}
}

func TestExternal(t *testing.T) {
	t.Parallel()
	secret, _ := crypto.HexToECDSA(secretKey)
	account := evm.NewKeystore(secret).Account()
	for _, clef := range []bool{true, false} {
		x := evm.NewExternal(account, serve(t, signAs(t, func(*types.DynamicFeeTx) {}, clef)), "account_signTransaction", patience)
		signed, err := x.Sign(t.Context(), unsigned(1337))
		x.Close()
		if err != nil {
			t.Fatal(err)
		}
		by := types.LatestSignerForChainID(signed.ChainId())
		if by.Hash(signed) != by.Hash(unsigned(1337)) {
			t.Errorf("clef %v: got another transaction, want the one to sign", clef)
		}
	}
}

// An external signer that signs another transaction is found out before it is stored or sent.
func TestExternalIsNotTrusted(t *testing.T) {
	t.Parallel()
	secret, _ := crypto.HexToECDSA(secretKey)
	account := evm.NewKeystore(secret).Account()
	for what, change := range map[string]func(*types.DynamicFeeTx){
		"nothing":     func(*types.DynamicFeeTx) {},
		"the nonce":   func(tx *types.DynamicFeeTx) { tx.Nonce++ },
		"the value":   func(tx *types.DynamicFeeTx) { tx.Value = big.NewInt(1e18) },
		"the address": func(tx *types.DynamicFeeTx) { tx.To = &common.Address{1} },
		"the fee":     func(tx *types.DynamicFeeTx) { tx.GasFeeCap = big.NewInt(1e18) },
		"the chain":   func(tx *types.DynamicFeeTx) { tx.ChainID = big.NewInt(1) },
	} {
		x := evm.NewExternal(account, serve(t, signAs(t, change, true)), "account_signTransaction", patience)
		c := open(t, evm.Config{URL: serve(t, healthy), ChainID: 1337, Signers: []evm.Signer{x}})
		all, err := c.Prepare(context.Background(), []chain.Draft{{Account: account, Index: 7, Call: chain.Call{To: make([]byte, 20), Gas: 50_000}}})
		x.Close()
		if err != nil {
			t.Fatal(err)
		}
		if what == "nothing" {
			if all[0].Err != nil {
				t.Errorf("an honest signer: got error %v, want none", all[0].Err)
			}
			continue
		}
		wraps(t, all[0].Err, chain.ErrKey)
		if len(all[0].Bytes) > 0 {
			t.Errorf("%s was changed: got an attempt, want the error alone", what)
		}
	}
}

// A signer by JSON-RPC that throttles or is silent is told of by kind, and asked as seldom as a service of keys; what it refuses is
// about one transaction.
func TestExternalThrottled(t *testing.T) {
	t.Parallel()
	secret, _ := crypto.HexToECDSA(secretKey)
	account := evm.NewKeystore(secret).Account()
	for status, want := range map[int]keyservice.Kind{http.StatusTooManyRequests: keyservice.Throttled, http.StatusBadGateway: keyservice.Away, 0: keyservice.Refused} {
		var calls atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			if status != 0 {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(status)
				return
			}
			var c rpcCall
			_ = json.NewDecoder(r.Body).Decode(&c)
			fmt.Fprint(w, c.say(func(string, []json.RawMessage) any { return fault{-32000, "request denied"} }))
		}))
		x := evm.NewExternal(account, s.URL, "account_signTransaction", patience)
		evm.SetSignPatience(x, 300*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second) // less than the server wants it to wait
		for range 100 {
			_, err := x.Sign(ctx, unsigned(1337))
			if kind, is := keyservice.KindOf(err); !is || kind != want || !errors.Is(err, chain.ErrKey) {
				t.Fatalf("status %d: got %v, want a fault of kind %d", status, err, want)
			}
		}
		cancel()
		x.Close()
		s.Close()
		if n := calls.Load(); status != 0 && n > 10 || status == 0 && n != 100 {
			t.Errorf("status %d: it was asked %d times", status, n)
		}
	}
}
