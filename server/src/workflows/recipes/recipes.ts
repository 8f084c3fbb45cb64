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
  const [path, key] = kind === 'event' ? ['/v1/track', '$STERNA_PUBLIC_KEY'] : ['/contacts', '$STERNA_SECRET_KEY']
  const given = Object.keys(data).length ? { data } : {}
  const body = { email: 'ada@example.com', ...(kind === 'event' ? { event: name } : {}), ...given }
  return [
    `curl ${publicUrl}${path} -H "authorization: Bearer ${key}" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n')
}
