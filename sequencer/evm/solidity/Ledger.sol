// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// The base ledger of one contract that several organisations share. It knows no balances and no rules of what is
/// recorded: it keeps which states are unspent and which intents are over, and takes an attempt only if every rule below
/// holds. Nobody owns it, nothing in it can be changed after its creation, and it calls no other contract.
///
/// What it promises, with any sender, any call and any order of calls:
///   1. At most one attempt of an (owner, sequence) lands, or a cancellation does.                      see take
///   2. What lands was granted by its owner, a member, to the account that sends it.                    see judge
///   3. What lands was endorsed by so many members as are needed, for exactly this attempt.             see endorsed
///   4. A state is spent once. It never comes back: its name is made of the attempt that creates it.    see stateId
///   5. What breaks a rule changes nothing but the log, and holds nothing else up.                      see submit
/// README.md beside this file has the threat model. The same cases and the same random entries are tried on a model.
contract Ledger {
    /// What was agreed on at the creation. Nodes compare its hash, `declared`.
    struct Declaration {
        address[] members; // may own intents, and endorse; an endorsement names one by its place
        address[] committee; // the members that may coordinate; only nodes use it
        uint64 needed; // endorsements that an attempt needs
        uint64 range; // blocks for which the committee keeps one order; only nodes use it and all that follows
        uint64 depth; // blocks below the head at which a block is final
        uint64 life; // blocks after the head until which a grant may last
        string policy; // how the committee's members are ranked
        string domain; // the rules of the states, by name and version
    }

    /// A signature of secp256k1 in two words (EIP-2098): the highest bit of vs is the parity of y, the rest is s.
    struct Signature {
        bytes32 r;
        bytes32 vs;
    }

    struct Endorsement {
        uint256 member; // its place among the members
        Signature signature; // of the assembled hash
    }

    /// An attempt to carry out an intent, who endorses it, and its owner's grant to the account that sends it.
    struct Entry {
        address owner;
        uint128 sequence; // an intent keeps it for all its attempts; 64 bits drawn at a start of its node, 64 counted
        bytes32 payload; // hash of what the owner's user asked for
        bytes32[] inputs; // states that it spends; strictly rising
        bytes32[] reads; // states that have to be unspent, and stay so; strictly rising, and none is an input
        bytes32[] outputs; // commitments to the states that it creates
        bytes data; // the domain's own
        Endorsement[] endorsements; // by strictly rising members
        bytes32 delegation; // for which the grant was given; only nodes use it
        uint64 validUntil; // the last block that may have the entry
        Signature grant;
    }

    /// The first rule that an entry breaks.
    enum Reason {
        Taken, // none
        Malformed, // inputs or reads do not rise strictly, or a read is an input
        NotMember, // the owner is no member
        Repeated, // the intent has landed, or was cancelled
        Expired, // this block comes after the grant's last one
        NotGranted, // the owner has not signed this grant to the sender
        NotEndorsed, // too few members have signed, or not in rising order
        Missing // an input or a read is not unspent
    }

    event Landed(address indexed owner, uint128 indexed sequence, bytes32 payload, bytes32 assembled);
    event Cancelled(address indexed owner, uint128 indexed sequence);
    event Skipped(address indexed owner, uint128 indexed sequence, bytes32 payload, bytes32 assembled, Reason reason);

    error Undeclarable(string why);
    error OtherChain(uint256 id); // the chain has forked, and the signatures are for another one

    bytes32 constant DOMAIN = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 constant ATTEMPT = keccak256("Attempt(address owner,uint128 sequence,bytes32 payload,bytes32[] inputs,bytes32[] reads,bytes32[] outputs,bytes data)");
    bytes32 constant GRANT = keccak256("Grant(bytes32 assembled,address coordinator,bytes32 delegation,uint64 validUntil)");
    bytes32 constant CANCELLATION = keccak256("Cancellation(address owner,uint128 sequence)");
    /// Half of the curve's order. A signature is as good with s as with its negative; only the lower one counts.
    uint256 constant HALF = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    bytes32 public immutable declared; // hash of chain, address and declaration
    uint256 public immutable since; // block of the creation: how far back the log is to be searched
    uint256 immutable chain;
    bytes32 immutable separator; // EIP-712's, of this contract on this chain
    uint256 immutable needed;
    uint256 immutable count; // of members
    MemberList immutable list;

    Declaration declaration_; // written once, and read by nodes alone
    mapping(address owner => mapping(uint256 word => uint256 bits)) taken; // a bit for each sequence
    mapping(bytes32 state => bool) public unspent;

    constructor(Declaration memory d) {
        for (uint256 i; i < d.members.length; ++i) {
            if (d.members[i] == address(0)) revert Undeclarable("a member is nobody");
            if (place(d.members, d.members[i]) != i) revert Undeclarable("a member is named twice");
        }
        if (d.needed == 0 || d.needed > d.members.length) revert Undeclarable("needed: one at least, all at most");
        declaration_ = d;
        declared = keccak256(abi.encode(block.chainid, address(this), d));
        since = block.number;
        chain = block.chainid;
        separator = keccak256(abi.encode(DOMAIN, keccak256("conch ledger"), keccak256("1"), block.chainid, address(this)));
        needed = d.needed;
        count = d.members.length;
        list = new MemberList(d.members);
    }

    /// Takes entries in their order. What breaks a rule is skipped, and the log says why.
    function submit(Entry[] calldata entries) external {
        if (block.chainid != chain) revert OtherChain(block.chainid);
        address[] memory all = members();
        for (uint256 i; i < entries.length; ++i) {
            Entry calldata e = entries[i];
            bytes32 assembled = assembledHash(e);
            Reason broken = judge(e, assembled, all);
            if (broken != Reason.Taken) {
                emit Skipped(e.owner, e.sequence, e.payload, assembled, broken);
                continue;
            }
            take(e.owner, e.sequence);
            for (uint256 j; j < e.inputs.length; ++j) unspent[e.inputs[j]] = false;
            for (uint256 j; j < e.outputs.length; ++j) unspent[stateId(assembled, j)] = true;
            emit Landed(e.owner, e.sequence, e.payload, assembled);
        }
    }

    /// Ends an intent that has not landed, for ever. Anybody may send what its owner has signed.
    function cancel(address owner, uint128 sequence, Signature calldata signature) external {
        if (block.chainid != chain) revert OtherChain(block.chainid);
        bytes32 digest = typed(keccak256(abi.encode(CANCELLATION, owner, sequence)));
        Reason broken;
        if (place(members(), owner) == count) broken = Reason.NotMember;
        else if (over(owner, sequence)) broken = Reason.Repeated;
        else if (!signed(owner, digest, signature)) broken = Reason.NotGranted;
        if (broken != Reason.Taken) {
            emit Skipped(owner, sequence, 0, 0, broken);
            return;
        }
        take(owner, sequence);
        emit Cancelled(owner, sequence);
    }

    function judge(Entry calldata e, bytes32 assembled, address[] memory all) private view returns (Reason) {
        if (!wellFormed(e.inputs, e.reads)) return Reason.Malformed;
        if (place(all, e.owner) == all.length) return Reason.NotMember;
        if (over(e.owner, e.sequence)) return Reason.Repeated;
        if (block.number > e.validUntil) return Reason.Expired;
        bytes32 granted = typed(keccak256(abi.encode(GRANT, assembled, msg.sender, e.delegation, e.validUntil)));
        if (!signed(e.owner, granted, e.grant)) return Reason.NotGranted;
        if (!endorsed(e.endorsements, assembled, all)) return Reason.NotEndorsed;
        if (!present(e.inputs) || !present(e.reads)) return Reason.Missing;
        return Reason.Taken;
    }

    function wellFormed(bytes32[] calldata inputs, bytes32[] calldata reads) private pure returns (bool) {
        for (uint256 i = 1; i < inputs.length; ++i) if (inputs[i - 1] >= inputs[i]) return false;
        for (uint256 i = 1; i < reads.length; ++i) if (reads[i - 1] >= reads[i]) return false;
        uint256 next; // the first input that is not below the read: both lists rise
        for (uint256 i; i < reads.length; ++i) {
            while (next < inputs.length && inputs[next] < reads[i]) ++next;
            if (next < inputs.length && inputs[next] == reads[i]) return false;
        }
        return true;
    }

    function endorsed(Endorsement[] calldata by, bytes32 assembled, address[] memory all) private view returns (bool) {
        if (by.length < needed) return false;
        uint256 lowest; // the place that the next one has at least
        for (uint256 i; i < by.length; ++i) {
            Endorsement calldata one = by[i];
            if (one.member < lowest || one.member >= all.length) return false;
            if (!signed(all[one.member], assembled, one.signature)) return false;
            lowest = one.member + 1;
        }
        return true;
    }

    function present(bytes32[] calldata states) private view returns (bool) {
        for (uint256 i; i < states.length; ++i) if (!unspent[states[i]]) return false;
        return true;
    }

    /// Whether an account has signed a digest. What recovers to no address is signed by nobody.
    function signed(address account, bytes32 digest, Signature calldata signature) private pure returns (bool) {
        uint256 s = uint256(signature.vs) & (type(uint256).max >> 1);
        if (s > HALF) return false;
        address by = ecrecover(digest, uint8(27 + (uint256(signature.vs) >> 255)), signature.r, bytes32(s));
        return by != address(0) && by == account;
    }

    /// What endorsers sign: the whole attempt, for this contract and chain. It names the attempt, also in the log.
    function assembledHash(Entry calldata e) private view returns (bytes32) {
        (bytes32 inputs, bytes32 reads) = (keccak256(abi.encodePacked(e.inputs)), keccak256(abi.encodePacked(e.reads)));
        (bytes32 outputs, bytes32 data) = (keccak256(abi.encodePacked(e.outputs)), keccak256(e.data));
        return typed(keccak256(abi.encode(ATTEMPT, e.owner, e.sequence, e.payload, inputs, reads, outputs, data)));
    }

    function typed(bytes32 structHash) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", separator, structHash));
    }

    function stateId(bytes32 assembled, uint256 index) private pure returns (bytes32) {
        return keccak256(abi.encode(assembled, index));
    }

    function over(address owner, uint128 sequence) public view returns (bool) {
        return taken[owner][sequence >> 8] & (1 << (sequence & 0xff)) != 0;
    }

    function take(address owner, uint128 sequence) private {
        taken[owner][sequence >> 8] |= 1 << (sequence & 0xff);
    }

    /// The place of an account in a list, and the list's length if it is not there.
    function place(address[] memory all, address account) private pure returns (uint256 i) {
        while (i < all.length && all[i] != account) ++i;
    }

    function members() private view returns (address[] memory all) {
        all = new address[](count);
        (address from, uint256 size) = (address(list), 32 * count);
        assembly ("memory-safe") {
            extcodecopy(from, add(all, 32), 1, size) // an array in memory is its length, then its elements
        }
    }

    function declaration() external view returns (Declaration memory) {
        return declaration_;
    }
}

/// The members as the code of a contract: to read them all costs 2,600 gas, and each one in storage would cost 2,100. The
/// first byte is 0, so that a call of it does nothing.
contract MemberList {
    constructor(address[] memory all) {
        bytes memory code = abi.encodePacked(hex"00", all);
        assembly ("memory-safe") {
            return(add(code, 32), mload(code))
        }
    }
}
