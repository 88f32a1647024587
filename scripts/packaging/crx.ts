/**
 * The signed package that a self-hosted update server gives out (CRX, version 3), and the extension id that
 * follows from its key. The format: `Cr24`, the version, the header's length, the header (a protocol buffer
 * `CrxFileHeader`: the proofs, and `SignedData` with the id), the zip.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';

const MAGIC = Buffer.from('Cr24');
const VERSION = 3;
const SIGNED_BEFORE = Buffer.from('CRX3 SignedData\0');
/** Numbers of the fields in the protocol buffers. */
const FIELD = { sha256_with_rsa: 2, public_key: 1, signature: 2, signed_header_data: 10_000, crx_id: 1 };
/** Of fields that hold bytes. */
const LENGTH_DELIMITED = 2;
const ID_BYTES = 16;

/** A new RSA key as PEM; what it signs keeps one id for as long as the key is kept. */
export function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The public half of a private key in PEM, as DER (SubjectPublicKeyInfo). Throws for anything but RSA. */
export function publicKeyOf(pem: string): Buffer {
  const key = readKey(pem);
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}

/** The id Chrome gives what is signed with this public key: half its SHA-256, in the letters a–p. */
export function extensionIdOf(public_key: Uint8Array): string {
  return idBytes(public_key)
    .toString('hex')
    .replace(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 16)));
}

/** The zip, signed. RSA with PKCS #1 v1.5 padding gives the same bytes each time. */
export function signCrx(zip: Uint8Array, pem: string): Uint8Array {
  const public_key = publicKeyOf(pem);
  const signed_header_data = field(FIELD.crx_id, idBytes(public_key));
  const signed = Buffer.concat([SIGNED_BEFORE, uint32(signed_header_data.length), signed_header_data, zip]);
  const signature = sign('sha256', signed, readKey(pem));
  const proof = Buffer.concat([field(FIELD.public_key, public_key), field(FIELD.signature, signature)]);
  const header = Buffer.concat([
    field(FIELD.sha256_with_rsa, proof),
    field(FIELD.signed_header_data, signed_header_data),
  ]);
  return Buffer.concat([MAGIC, uint32(VERSION), uint32(header.length), header, zip]);
}

function readKey(pem: string) {
  let key: ReturnType<typeof createPrivateKey>;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The reason may quote the key.
    throw new Error('The signing key is not a private key in PEM.');
  }
  if (key.asymmetricKeyType !== 'rsa') throw new Error('The signing key must be an RSA key.');
  return key;
}

function idBytes(public_key: Uint8Array): Buffer {
  return createHash('sha256').update(public_key).digest().subarray(0, ID_BYTES);
}

function field(number: number, content: Uint8Array): Buffer {
  return Buffer.concat([varint((number << 3) | LENGTH_DELIMITED), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
