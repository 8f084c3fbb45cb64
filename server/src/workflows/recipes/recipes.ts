import { ACCOUNT_RECIPES } from './account-recipes.ts'
import type { Recipe, RecipeNeed } from './recipe.ts'
import { SHOP_RECIPES } from './shop-recipes.ts'

/** In the order in which they are offered. */
const ORDER = ['welcome', 'trial-ending', 'abandoned-cart', 'win-back', 'receipt', 'feedback', 'birthday', 're-permission']
export const RECIPES = ORDER.map((key): Recipe => [...ACCOUNT_RECIPES, ...SHOP_RECIPES].find((recipe) => recipe.key === key)!)

export const findRecipe = (key: string): Recipe | undefined => RECIPES.find((recipe) => recipe.key === key)

/** The request that brings what a recipe needs. Null: Sterna records the event by itself. */
export function snippetOf({ kind, name, data }: RecipeNeed, publicUrl: string): string | null {
  if (kind === 'event' && name.startsWith('email.')) return null
  const request =
    kind === 'event'
      ? {
          path: '/v1/track',
          key: '$STERNA_PUBLIC_KEY',
          body: { email: 'ada@example.com', event: name, ...(Object.keys(data).length ? { data } : {}) },
        }
      : { path: '/contacts', key: '$STERNA_SECRET_KEY', body: { email: 'ada@example.com', data } }
  return [
    `curl ${publicUrl}${request.path} -H "authorization: Bearer ${request.key}" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(request.body)}'`,
  ].join('\n')
}
