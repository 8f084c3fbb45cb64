/**
 * The id of the delivery of a message to an endpoint, for ever the same: the time of the message, and the random bits of both ids. It is its
 * own inverse: with the id of a delivery in place of the message it returns the message. The SQL function `webhook_delivery_id` computes the
 * same.
 */
export function deliveryIdOf(messageId: string, endpointId: string) {
  const mixed = (from: number, to: number) =>
    Number.parseInt(messageId.slice(from, to), 16) ^ Number.parseInt(endpointId.slice(from, to), 16)
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  // The variant of a UUID is in the first bits of this part.
  const variant = hex(mixed(19, 23) | 0x8000, 4)
  return `${messageId.slice(0, 19)}${variant}-${hex(mixed(24, 28), 4)}${hex(mixed(28, 36) >>> 0, 8)}`
}
