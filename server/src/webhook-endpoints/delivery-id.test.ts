import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deliveryIdOf } from './delivery-id.ts'

test('the id of a delivery is a UUID with the time of the message, and leads back to the message', () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), fc.uuid({ version: 7 }), (message, endpoint) => {
      const id = deliveryIdOf(message, endpoint)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(id.slice(0, 18)).toBe(message.slice(0, 18))
      expect(deliveryIdOf(id, endpoint)).toBe(message)
    }),
  )
})

test('deliveries of one message to two endpoints have two ids', () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), fc.uuid({ version: 7 }), fc.uuid({ version: 7 }), (message, one, other) => {
      fc.pre(one.slice(19) !== other.slice(19))
      expect(deliveryIdOf(message, one)).not.toBe(deliveryIdOf(message, other))
    }),
  )
})
