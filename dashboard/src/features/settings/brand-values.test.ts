import { expect, test } from 'vitest'
import { brandProblemOf, withBrand } from './brand-values.ts'

test('a field that is emptied is left out, and so is a part without fields', () => {
  const brand = { colors: { primary: '#fff' }, footer: { name: 'Acme' }, radius: 4 }
  expect(withBrand(brand, { colors: { primary: null }, radius: null })).toEqual({ footer: { name: 'Acme' } })
  expect(withBrand(brand, { colors: { ...brand.colors, text: '#000' } })).toMatchObject({
    colors: { primary: '#fff', text: '#000' },
    radius: 4,
  })
})

test.each([
  [{}, undefined],
  [{ footer: { links: [{ label: 'Shop', href: 'https://x.test' }] } }, undefined],
  [{ footer: { links: [{ label: ' ', href: 'https://x.test' }] } }, /text/],
  [{ footer: { links: [{ label: 'Shop', href: '' }] } }, /address/],
])('%j', (brand, problem) => {
  if (problem) expect(brandProblemOf(brand)).toMatch(problem)
  else expect(brandProblemOf(brand)).toBeUndefined()
})
