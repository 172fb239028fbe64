package providertest

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
)

// Key is the key of an account of a test. It is an evm.Signer, and signs what conch did not ask for.
type Key struct {
	secret  *ecdsa.PrivateKey
	address common.Address
}

// NewKey makes a key.
func NewKey(t testing.TB) *Key {
	t.Helper()
	secret, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return &Key{secret, crypto.PubkeyToAddress(secret.PublicKey)}
}

// KeyOf returns the key of 32 bytes. Few of them are none: the error says so.
func KeyOf(secret []byte) (*Key, error) {
	key, err := crypto.ToECDSA(secret)
	if err != nil {
		return nil, fmt.Errorf("evmtest: %w", err)
	}
	return &Key{key, crypto.PubkeyToAddress(key.PublicKey)}, nil
}

// Account implements evm.Signer.
func (k *Key) Account() chain.Account { return chain.Account(k.address[:]) }

// Sign implements evm.Signer.
func (k *Key) Sign(_ context.Context, tx *types.Transaction) (*types.Transaction, error) {
	return types.SignTx(tx, types.LatestSignerForChainID(tx.ChainId()), k.secret)
}

// Raw signs a transaction (EIP-1559), without To one that makes a contract, and returns it as eth_sendRawTransaction takes it.
func (k *Key) Raw(ctx context.Context, chainID, nonce, tip, gas uint64, to, data []byte) (string, error) {
	call := &types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(chainID), Nonce: nonce, Gas: gas, Data: data, Value: new(big.Int),
		GasTipCap: new(big.Int).SetUint64(tip), GasFeeCap: big.NewInt(50e9),
	}
	if len(to) > 0 {
		call.To = new(common.BytesToAddress(to))
	}
	tx, err := k.Sign(ctx, types.NewTx(call))
	if err != nil {
		return "", err
	}
	raw, err := tx.MarshalBinary()
	return hexutil.Encode(raw), err
}

// SignHash signs a hash: r, s and the recovery id, 0 or 1.
func (k *Key) SignHash(hash [32]byte) ([]byte, error) { return crypto.Sign(hash[:], k.secret) }

// Verify reports whether the key of an account has signed a hash, as a contract does: the account is recovered from the
// signature. A signature has one form: one with a high s is refused.
func Verify(account chain.Account, hash [32]byte, signature []byte) bool {
	if len(signature) != crypto.SignatureLength {
		return false
	}
	r, s := common.BytesToHash(signature[:32]).Big(), common.BytesToHash(signature[32:64]).Big()
	if !crypto.ValidateSignatureValues(signature[64], r, s, true) {
		return false
	}
	public, err := crypto.Ecrecover(hash[:], signature)
	return err == nil && chain.Account(crypto.Keccak256(public[1:])[12:]) == account
}

// Transaction is a signed transaction.
type Transaction struct {
	Raw   string // as eth_sendRawTransaction takes it
	Hash  string
	From  string
	Nonce uint64

	tx *types.Transaction
}

// Stranger signs a transaction with a nonce, as another holder of the key does.
func (k *Key) Stranger(t testing.TB, chainID, nonce uint64) Transaction {
	t.Helper()
	tx, err := k.Sign(t.Context(), types.NewTx(&types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(chainID), Nonce: nonce, To: &common.Address{0xf0}, Gas: 30_000,
		GasTipCap: big.NewInt(2e9), GasFeeCap: big.NewInt(50e9), Data: []byte("stranger"), Value: new(big.Int),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return transactionOf(t, tx)
}

// Consume signs a transaction of k that raises the nonce of another account: by EIP-7702 the account
// authorises code, none here, and no block has a transaction of it with that nonce.
func (k *Key) Consume(t testing.TB, chainID, nonce uint64, of *Key, used uint64) Transaction {
	t.Helper()
	permit, err := types.SignSetCode(of.secret, types.SetCodeAuthorization{Nonce: used})
	if err != nil {
		t.Fatal(err)
	}
	tx := new(types.Transaction)
	// By its JSON, since the fields are of a type of another library.
	if err := json.Unmarshal(encoded(map[string]any{
		"type": "0x4", "chainId": hex(chainID), "nonce": hex(nonce), "to": k.address, "gas": hex(100_000),
		"maxPriorityFeePerGas": hex(2e9), "maxFeePerGas": hex(50e9), "value": "0x0", "input": "0x", "accessList": []any{},
		"authorizationList": []any{permit}, "v": "0x0", "r": "0x0", "s": "0x0",
	}), tx); err != nil {
		t.Fatal(err)
	}
	if tx, err = k.Sign(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	return transactionOf(t, tx)
}

func transactionOf(t testing.TB, tx *types.Transaction) Transaction {
	t.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return decode(hexutil.Encode(raw))
}

// decode reads signed bytes. Bytes that are no transaction have no hash.
func decode(raw string) Transaction {
	out := Transaction{Raw: raw}
	bytes, err := hexutil.Decode(raw)
	tx := new(types.Transaction)
	if err != nil || tx.UnmarshalBinary(bytes) != nil {
		return out
	}
	from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
	if err != nil {
		return out
	}
	out.Hash, out.From, out.Nonce, out.tx = tx.Hash().Hex(), from.Hex(), tx.Nonce(), tx
	return out
}

// fields returns the transaction as a node shows it, in a block or, with the hash "", in its pool.
func (tx Transaction) fields(block string, number uint64, index int) map[string]any {
	fields := map[string]any{"hash": tx.Hash, "nonce": hex(tx.Nonce)}
	if tx.tx != nil {
		_ = json.Unmarshal(encoded(tx.tx), &fields) // it is an object
	}
	fields["from"] = tx.From
	fields["blockHash"], fields["blockNumber"], fields["transactionIndex"] = nil, nil, nil
	if block != "" {
		fields["blockHash"], fields["blockNumber"], fields["transactionIndex"] = block, hex(number), hex(uint64(index))
	}
	return fields
}

// String leaves out the key.
func (k *Key) String() string { return fmt.Sprintf("key of %v", k.address) }
