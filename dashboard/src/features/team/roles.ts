import type { Project } from '@sterna/sdk'

export type Role = Project['role']

/** The roles one can give; there is one owner, the one who created the project. */
export const GIVEN_ROLES = { MEMBER: 'Member', ADMIN: 'Admin' }

export const ROLES: Record<Role, string> = { OWNER: 'Owner', ...GIVEN_ROLES }
