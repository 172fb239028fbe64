package main

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
)

// signerAPI is the namespace account: it signs for the funded account as clef does, and confirms
// every request. It serves as an external signer, and as another holder of the key.
type signerAPI struct {
	key *ecdsa.PrivateKey
}

// signed is clef's answer.
type signed struct {
	Raw hexutil.Bytes      `json:"raw"`
	Tx  *types.Transaction `json:"tx"`
}

// SignTransaction signs a transaction and sends nothing.
func (a *signerAPI) SignTransaction(args apitypes.SendTxArgs) (*signed, error) {
	if own := crypto.PubkeyToAddress(a.key.PublicKey); args.From.Address() != own {
		return nil, fmt.Errorf("there is no key for %v: the funded account is %v", args.From.Address(), own)
	}
	tx, err := args.ToTransaction()
	if err != nil {
		return nil, err
	}
	return sign(tx, a.key)
}

func sign(tx *types.Transaction, key *ecdsa.PrivateKey) (*signed, error) {
	tx, err := types.SignTx(tx, types.LatestSignerForChainID(big.NewInt(chainID)), key)
	if err != nil {
		return nil, err
	}
	raw, err := tx.MarshalBinary()
	return &signed{raw, tx}, err
}

// burner fills blocks, so that the base fee rises.
type burner struct {
	key *ecdsa.PrivateKey
}

func newBurner() (burner, error) {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("conch-devnode burns")))
	return burner{key}, err
}

func (b burner) address() common.Address { return crypto.PubkeyToAddress(b.key.PublicKey) }

// fill uses up gas by creating contracts whose first instruction is invalid.
func (b burner) fill(gas, nonce uint64, price *big.Int) (txs []*types.Transaction, err error) {
	for left := gas; left >= leastCreation; nonce++ {
		share := min(left, mostGas)
		one, err := sign(types.NewTx(&types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: nonce, Gas: share, GasFeeCap: price, GasTipCap: new(big.Int), Data: []byte{0xfe},
		}), b.key)
		if err != nil {
			return nil, err
		}
		txs = append(txs, one.Tx)
		left -= share
	}
	return txs, nil
}

const (
	mostGas       = 1 << 24 // gas cap of one transaction in EIP-7825
	leastCreation = 60_000  // a little above the least gas of a contract creation
)
