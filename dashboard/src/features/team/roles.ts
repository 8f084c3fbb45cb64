import type { Project } from '@sterna/sdk'

export type Role = Project['role']

/** The roles that can be assigned. The owner is the user who created the project. */
export const ASSIGNABLE_ROLES = { MEMBER: 'Member', ADMIN: 'Admin' }

export const ROLES: Record<Role, string> = { OWNER: 'Owner', ...ASSIGNABLE_ROLES }
